#!/bin/bash
#SBATCH --partition={partition}
#SBATCH --account={account}
#SBATCH --time={time}
#SBATCH --nodes={nodes}
#SBATCH --ntasks={ranks}
#SBATCH --ntasks-per-node={ranks_per_node}
#SBATCH --cpus-per-task={cores_per_rank}
#SBATCH --hint=nomultithread
{hold}
