"""The screens of Support."""
