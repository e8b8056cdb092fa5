import type { Int64 } from '../../schema/resource.js'
import { Stop } from '../engine/base/errors.js'
import { parseId } from '../engine/base/int64.js'
import type { Config } from '../engine/config/config.js'
import { nearest } from '../engine/config/nearest.js'
import type { CursorChoice } from '../engine/run/runreport.js'
import { listOf } from './flags.js'

const unlessAll = <T>(choice: 'all' | readonly T[]): readonly T[] | null => (choice === 'all' ? null : choice)

/** The choice that flags or a job make; by default, the configuration's. */
export function chooseFrom(
  config: Config,
  wanted: { tenants: 'all' | readonly Int64[]; resources: 'all' | readonly string[] },
): CursorChoice {
  for (const name of unlessAll(wanted.resources) ?? []) checkResource(config, name)
  return {
    tenants: unlessAll(wanted.tenants) ?? unlessAll(config.sync.tenants),
    resources: unlessAll(wanted.resources) ?? unlessAll(config.sync.resources),
  }
}

/** The choice of --tenant and --resource. */
export function chosenByFlags(config: Config, options: Readonly<Record<string, unknown>>): CursorChoice {
  const tenants = unique(options.tenant).map(tenantId)
  const resources = unique(options.resource)
  for (const name of resources) refuseList('--resource', name)
  const chosen = chooseFrom(config, {
    tenants: tenants.length > 0 ? tenants : 'all',
    resources: resources.length > 0 ? resources : 'all',
  })
  return tenants.length > 0 ? { ...chosen, isTyped: true } : chosen
}

const unique = (value: unknown): string[] => [...new Set(listOf(value))]

/** A flag that may be repeated takes one value each time. */
function refuseList(flag: string, text: string): void {
  const parts = text.split(/[\s,;]+/).filter((part) => part !== '')
  if (parts.length < 2) return
  throw new Stop(`Found ${flag} "${text}", expected one value per ${flag}`, {
    exitCode: 2,
    hint: `Type ${parts.map((part) => `${flag} ${part}`).join(' ')}`,
  })
}

function tenantId(text: string): Int64 {
  const id = parseId(text)
  if (id !== undefined) return id
  refuseList('--tenant', text)
  throw new Stop(`Found --tenant "${text}", expected a tenant id: a positive whole number`, {
    exitCode: 2,
    hint: 'Type shopsync check to list the tenants',
  })
}

function checkResource(config: Config, name: string): void {
  const known = Object.keys(config.resources)
  if (!known.includes(name)) {
    const near = nearest(name, known)
    throw new Stop(`Found the resource "${name}", expected one of ${known.join(', ')}`, {
      exitCode: 2,
      hint: near === undefined ? undefined : `Did you mean ${near}?`,
    })
  }
  if (config.resources[name]?.enabled) return
  throw new Stop(`Found the resource "${name}", which the configuration disables`, {
    exitCode: 2,
    hint: `Expected an enabled resource. Remove "enabled": false under resources.${name}, or name another`,
  })
}
