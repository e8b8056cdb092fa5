/** The model as the program builds it: with the state tables of its features. */
import type { Resource } from '../../../schema/resource.js'
import type { Privacy } from '../../../src/engine/config/treatment.js'
import { model as compose, type Settings } from '../../../src/engine/model/registry.js'
import type { Model } from '../../../src/engine/model/resourcemodel.js'
import { features } from '../../../src/main.js'
import { stateTablesOf } from '../../../src/shell/features.js'

const tables = await stateTablesOf(features)

export const model = (
  resources: Readonly<Record<string, Resource>>,
  settings: Settings = {},
  privacy?: Privacy,
): Model => compose(resources, settings, tables, privacy)
