# Holds an allocation of Slurm for a session: bash hold.sh FOLDER TOKEN SILENCE EVERY
#
# Tells the conductor, in FOLDER/allocation-TOKEN, what the allocation is. Then looks every EVERY seconds at what the
# conductor writes into FOLDER/alive-TOKEN, and ends, and the allocation with it, when that has been the same for SILENCE seconds: no clock is
# read, so those of the nodes may differ.
folder=$1 alive=$1/alive-$2 allocation=$1/allocation-$2 silence=$3 every=$4
if ! [ -e "$alive" ]; then
  echo "the node $(hostname) does not see $folder" >&2
  exit 1
fi
for name in SLURM_JOB_ID SLURM_JOB_NODELIST SLURM_JOB_NUM_NODES SLURM_TASKS_PER_NODE SLURM_CPUS_PER_TASK \
    SLURM_JOB_CPUS_PER_NODE SLURM_JOB_PARTITION SLURM_CLUSTER_NAME; do
  if [ -n "${!name}" ]; then
    printf '%s=%s\n' "$name" "${!name}"
  fi
done >"$allocation.new" && mv "$allocation.new" "$allocation" || exit 1
last= silent=0
while [ "$silent" -lt "$silence" ]; do
  sleep "$every"
  now=$(cat "$alive" 2>/dev/null)
  if [ "$now" = "$last" ]; then
    silent=$((silent + every))
  else
    silent=0 last=$now
  fi
done
echo "the conductor has been silent for $silence seconds" >&2
