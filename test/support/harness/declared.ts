/** What the program declares of itself, and what its features decide from what they are given, and nothing else. */
import type { Checks } from '../../../src/engine/config/schema.js'
import { tablesOf } from '../../../src/engine/model/table.js'
import { features } from '../../../src/main.js'
import type { StepKind } from '../../../src/shell/command.js'
import { commandsOf, sectionsOf, stepsOf } from '../../../src/shell/features.js'

export * from '../../../src/features/health/alertsettings.js'
export * from '../../../src/features/health/metricnames.js'
export * from '../../../src/features/init/calendartimes.js'
export * from '../../../src/features/jobs/jobfile.js'
export * from '../../../src/features/targets/roundnow.js'
export * from '../../../src/features/worker/pool.js'
export * from '../../../src/shell/messagereference.js'
export * from '../../../src/shell/package.js'
export * from '../../../src/shell/typedlines.js'

/** Every command, with its flags and its examples. */
export const commands = commandsOf(features)

/** What a configuration is checked against: the sections of the engine and of every feature. */
export const checks: Checks = { tablesOf, sections: await sectionsOf(features) }

/** The steps that jobs may have. */
export const kinds: readonly StepKind[] = await stepsOf(features)
