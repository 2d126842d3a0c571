"""A network trained once on synthetic clinical tables, which predicts a new table in one forward pass.

`tables` and `outcomes` draw the tables, `batches` puts them together, `training` trains, `weights` holds what was
trained. `encoding` and `architecture` are the network, `predictions` and `learners` ask it. `benchmarks/network` says
how far it got. The product does not use it, as the ensemble of the opening is as good without it.
"""
