/** A file of its own: a process that is measured loads what the program loads, and nothing of the benches. */
import { resources } from '../schema/index.js'
import type { Model } from '../src/engine/model/resourcemodel.js'
import { model } from '../test/support/harness/model.js'

/** Every resource in its default configuration. */
export const known: Model = model(resources)
