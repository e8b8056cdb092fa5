/** What a configuration is checked against: the sections of the engine and of every feature. */
import type { Checks } from '../../src/engine/config/schema.js'
import { tablesOf } from '../../src/engine/model/table.js'
import { features } from '../../src/main.js'
import { sectionsOf } from '../../src/shell/command.js'

export const checks: Checks = { tablesOf, sections: await sectionsOf(features) }
