"""The guided study over emulated hosts: what a slow link leaves of the hosts' speed, and how many ranks the memory of a
host holds. It goes on where `study`, the article's path on one host, ends. `facts` has what its rules need."""
