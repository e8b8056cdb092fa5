/** What a configuration is checked against: the sections of the engine and of every feature. */
import type { Checks } from '../../../src/engine/config/schema.js'
import { tablesOf } from '../../../src/engine/model/table.js'
import { features } from '../../../src/main.js'
import type { StepKind } from '../../../src/shell/command.js'
import { sectionsOf, stepsOf } from '../../../src/shell/features.js'

export const checks: Checks = { tablesOf, sections: await sectionsOf(features) }

/** The steps that jobs may have. */
export const kinds: readonly StepKind[] = await stepsOf(features)
