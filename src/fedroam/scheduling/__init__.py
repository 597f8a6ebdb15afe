"""Who trains, through which station, with how much bandwidth."""
