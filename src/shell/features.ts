import { Bug } from '../engine/base/errors.js'
import type { ConfigSection } from '../engine/config/section.js'
import type { StateTables } from '../engine/model/statetable.js'
import type { Warehouse } from '../engine/warehouse/warehouse.js'
import {
  type Besides,
  type BesideWarehouse,
  type Command,
  commandGroups,
  type Feature,
  type StepKind,
} from './command.js'

/* What the list of features adds up to. */

/** By group, and within a group in the order of the features. */
export function commandsOf(features: readonly Feature[]): Command[] {
  const commands = features.flatMap(({ command }) => command ?? [])
  return commandGroups.flatMap((group) => commands.filter((command) => command.group === group))
}

/** The command of another feature, to be called with what this one was called with. */
export function commandNamed(name: string, features: readonly Feature[]): Command {
  const command = commandsOf(features).find((one) => one.name === name)
  if (!command) throw new Bug(`No command ${name}`)
  return command
}

export const dueRound: NonNullable<Feature['dueRound']> = (mode, context, ...chosen) => {
  const feature = context.invocation.features.find((one) => one.dueRound)
  if (!feature?.dueRound) throw new Bug('Nothing decides what is due')
  return feature.dueRound(mode, context, ...chosen)
}

/** The same list each time: the check of a configuration is made once for it. */
const sectionLists = new WeakMap<readonly Feature[], Promise<ConfigSection[]>>()

export function sectionsOf(features: readonly Feature[]): Promise<ConfigSection[]> {
  const known = sectionLists.get(features)
  if (known) return known
  const sections = Promise.all(features.flatMap(({ settings }) => settings?.() ?? []))
  sectionLists.set(features, sections)
  return sections
}

export const stepsOf = (features: readonly Feature[]): Promise<StepKind[]> =>
  Promise.all(features.flatMap(({ step }) => step?.() ?? []))

export const stateTablesOf = (features: readonly Feature[]): Promise<StateTables[]> =>
  Promise.all(features.flatMap(({ tables }) => tables?.() ?? []))

/** The warehouses that features keep beside the main one. */
export const besidesOf = (features: readonly Feature[]): Promise<Besides[]> =>
  Promise.all(features.flatMap(({ besides }) => besides?.() ?? []))

/** Works on each of them that exists, and closes it. */
export async function eachBeside(
  besides: readonly Besides[],
  main: Pick<Warehouse, 'dialect'>,
  work: (beside: BesideWarehouse, how: Besides) => Promise<unknown>,
): Promise<void> {
  for (const how of besides) {
    const beside = await how.there(main)
    try {
      if (beside) await work(beside, how)
    } finally {
      await beside?.close()
    }
  }
}
