"""Bad inputs by the room that refuses them: FILES, and MISTAKES with what each answer names."""
