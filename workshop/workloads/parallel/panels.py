PANELS = ()
