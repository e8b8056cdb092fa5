/**
 * What the product does beyond storing records, each part switched off: without.ts measures a copy of the program
 * without one of them.
 */
import type { Privacy } from '../src/engine/config/treatment.js'
import { type Breakage, breaking } from '../test/support/mutants/breakage.js'

const registry = breaking('engine/model/registry')
const preset: Privacy = { preset: 'pseudonymous', columns: {}, key: Buffer.alloc(32, 7), keyVersion: 1 }

export const switchedOff: readonly { readonly name: string; readonly breakage: Breakage }[] = [
  {
    name: 'totals',
    breakage: registry.model((sound, ...given) => {
      const whole = sound(...given)
      const derived = new Set(whole.list.flatMap((one) => one.derived.map(({ table }) => table.name)))
      const list = whole.list.map((one) => ({ ...one, derived: [] }))
      return {
        ...whole,
        list,
        byName: new Map(list.map((one) => [one.name, one])),
        tables: whole.tables.filter(({ name }) => !derived.has(name)),
        tableByName: new Map([...whole.tableByName].filter(([name]) => !derived.has(name))),
      }
    }),
  },
  {
    // The other way round, since it is off by default: the copy (B) hides personal columns.
    name: 'privacy',
    breakage: registry.model((sound, resources, settings, features) =>
      sound(resources, settings, features, preset),
    ),
  },
  {
    // The other way round, too: the copy (B) keeps the history of every resource.
    name: 'history',
    breakage: registry.model((sound, resources, settings = {}, ...more) => {
      const kept = Object.keys(resources).map((name) => [name, { ...settings[name], history: true }])
      return sound(resources, Object.fromEntries(kept), ...more)
    }),
  },
]
