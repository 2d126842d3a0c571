"""Pages of test catalogues: what a hospital's tests cost, how long they take, how they may harm, what they reveal."""
