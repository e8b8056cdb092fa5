/* The resources as a configuration has them. */
import { resources } from '../../schema/index.js'
import type { Config } from '../engine/config/config.js'
import { privacyKey } from '../engine/config/privacysection.js'
import { model, type Settings } from '../engine/model/registry.js'
import type { Model } from '../engine/model/resourcemodel.js'
import type { Feature } from './command.js'
import { stateTablesOf } from './features.js'

export async function configuredModel(features: readonly Feature[], config: Config): Promise<Model> {
  const settings: Record<string, Settings[string]> = { ...config.resources }
  for (const feature of features)
    for (const [name, names] of Object.entries((await feature.names?.(config)) ?? {}))
      settings[name] = { ...settings[name], names }
  const { key, ...privacy } = config.privacy
  const bytes = (key && privacyKey(key.reveal())) ?? null
  return model(resources, settings, await stateTablesOf(features), { ...privacy, key: bytes })
}
