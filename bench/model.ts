import { resources } from '../schema/index.js'
import type { Model } from '../src/engine/model/resourcemodel.js'
import { model } from '../test/support/harness/model.js'

/** Every resource in its default configuration, or with its history. */
export const modelOf = (history = false): Model =>
  model(resources, Object.fromEntries(Object.keys(resources).map((name) => [name, { history }])))
