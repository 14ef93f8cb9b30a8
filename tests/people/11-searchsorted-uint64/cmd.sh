#!/bin/bash
# run in this folder
python t.py
