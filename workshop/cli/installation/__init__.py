"""Steps of an installation after uv: `compilation` compiles kernels and modules ahead of the first visit, `horovod`
builds Horovod, also as a child of `workshop up`."""
