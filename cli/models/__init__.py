"""The commands about models: training, measuring, publishing."""
