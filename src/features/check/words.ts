/*
 * The trials of `shopsync check` in words: one finding per trial, and the text of all of them. Used by
 * src/features/check/command.ts; the facts come from src/features/check/work.ts.
 */
import type { Int64 } from '../../../schema/resource.js'
import { wordsOf } from '../../engine/base/errors.js'
import {
  atSecond,
  count,
  indent,
  joinedNames,
  paragraphs,
  plural,
  shortRequests,
  span,
} from '../../engine/base/format.js'
import { inParts } from '../../engine/base/parts.js'
import { mostNamed } from '../../engine/warehouse/hiding/privacystate.js'
import { encodingWords } from '../../engine/warehouse/openwarehouse.js'
import type { FailedWork } from '../../engine/warehouse/state/failedworks.js'
import { adoptionHint, foreignText } from '../../engine/warehouse/state/sourceidentity.js'
import { viewChangesText } from '../../shell/tablechanges.js'
import { plainTerminal, type Terminal } from '../../shell/terminal.js'
import { table } from '../../shell/texttable.js'
import { changesText, probeFault, probeText } from './probewords.js'
import type { Trial } from './trials.js'

/** One trial in words: an entry in the document of `check`, and a line of its text. */
interface CheckFinding {
  readonly what: string
  readonly ok: boolean
  readonly found: string
  /** How to fix the problem. */
  readonly hint: string | null
}

export function findingOf(trial: Trial): CheckFinding {
  const ok = trial.exitCode === 0
  const { what, found, hint = null } = words(trial, ok)
  return { what, ok, found, hint }
}

type Words = Omit<CheckFinding, 'ok' | 'hint'> & { readonly hint?: string | null }

function words(trial: Trial, ok: boolean): Words {
  switch (trial.of) {
    case 'configuration':
      return { what: 'configuration', found: trial.file }
    case 'environment':
      return { what: 'environment', found: environmentText(trial.variables) }
    case 'proxy':
      return { what: 'proxy', found: `${trial.label}, named by ${trial.from}` }
    case 'credentials':
      return credentialsWords(trial, ok)
    case 'clock':
      return clockWords(trial.skew, ok)
    case 'authorizations':
      return shortWords(trial)
    case 'revoked':
      return revokedWords(trial.tenantId)
    case 'grant':
      return grantWords(trial)
    case 'tenant':
      return tenantWords(trial)
    case 'resources':
      return answeringWords(trial)
    case 'resource':
      return resourceWords(trial)
    case 'belonging':
      return { what: 'source', found: foreignText(trial.owner, trial.asked), hint: adoptionHint }
    case 'probe':
      return probeWords(trial)
    case 'warehouse':
      return warehouseWords(trial, ok)
    case 'held columns':
    case 'table':
    case 'encoding':
      return databaseWords(trial)
    case 'views':
    case 'reader':
      return troubleWords(trial)
    case 'view changes':
      return viewChangesWords(trial)
    case 'work':
      return workWords(trial.work)
    case 'target':
    case 'target tenant':
      return targetWords(trial)
    case 'due job':
      return { what: `job ${trial.job}`, found: trial.found, hint: trial.hint }
    case 'alert':
      return alertWords(trial, ok)
    case 'webhook':
    case 'event names':
      return eventWords(trial)
    case 'untried':
      return { what: trial.what, found: `not tried: ${trial.found}`, hint: trial.hint }
    case 'failure':
      return failureWords(trial)
    default:
      return trial satisfies never
  }
}

function credentialsWords({ granted, window }: Extract<Trial, { of: 'credentials' }>, ok: boolean): Words {
  const rate = window
    ? `; ${count(window.remaining)} of ${count(window.limit)} requests left in this window`
    : ''
  const hint = ok ? null : "Ask the operator's support for access, on behalf of the tenant's owner"
  return { what: 'credentials', found: `accepted; ${plural(granted, 'tenant')} granted${rate}`, hint }
}

const environmentText = (variables: readonly string[]): string =>
  variables.length === 0 ? 'nothing is taken from it' : `${variables.join(', ')} set`

function answeringWords({ tenantId, answering, absent }: Extract<Trial, { of: 'resources' }>): Words {
  const missing = absent.length === 0 ? '' : `; not offered: ${absent.join(', ')}`
  return { what: 'resources', found: `${count(answering)} answer for tenant ${tenantId}${missing}` }
}

function grantWords({ tenantId, granted }: Extract<Trial, { of: 'grant' }>): Words {
  const names = granted.slice(0, 20).join(', ') || 'none'
  const hint = `Granted tenants: ${names}. Ask for the grant, or remove the tenant from sync.tenants`
  return { what: `tenant ${tenantId}`, found: 'is not granted to this partner', hint }
}

function failureWords({ what, error }: Extract<Trial, { of: 'failure' }>): Words {
  const { message, hint = null } = wordsOf(error)
  return { what, found: message, hint }
}

function tenantWords({ tenantId, readable }: Extract<Trial, { of: 'tenant' }>): Words {
  const what = `tenant ${tenantId}`
  return readable
    ? { what, found: `readable; ${count(readable.records)} ${readable.resource}` }
    : {
        what,
        found: 'not tried: none of its enabled resources is offered, expected at least one',
        hint: 'Remove "enabled": false from one under resources',
      }
}

const eventWords = (trial: Extract<Trial, { of: 'webhook' | 'event names' }>): Words =>
  trial.of === 'webhook'
    ? { what: 'webhook', found: trial.found, hint: trial.hint }
    : { what: 'event names', found: `register these ${trial.names.length}: ${trial.names.join(', ')}` }

function shortWords({ shown, total }: Extract<Trial, { of: 'authorizations' }>): Words {
  const of = total === undefined ? 'a number that changes' : count(total)
  const found = `the list shows ${count(shown)} of ${of}, or some that cannot be read`
  return {
    what: 'authorizations',
    found,
    hint: "No tenant is treated as revoked; tell the API's operator",
  }
}

const workWords = ({ what, message, since, advice }: FailedWork): Words => ({
  what,
  found: `${message} (since ${atSecond(since)})`,
  hint: advice,
})

function targetWords(trial: Extract<Trial, { of: 'target' | 'target tenant' }>): Words {
  if (trial.of === 'target tenant') {
    const names = trial.granted.slice(0, 20).join(', ') || 'none'
    return {
      what: `targets.tenants.${trial.tenantId}`,
      found: 'has no effect, because the tenant is not granted, or was forgotten',
      hint: `Expected one of ${names}: correct the id, or remove it from targets.tenants`,
    }
  }
  const { resource, isDisabled, path: what } = trial
  const remove = `Remove "${resource}" from ${what.slice(0, what.lastIndexOf('.'))}`
  return isDisabled
    ? {
        what,
        found: 'has no effect, because the configuration disables the resource',
        hint: `${remove}, or "enabled": false under resources.${resource}`,
      }
    : {
        what,
        found: 'has no effect on runs that do not name the resource, because it is not in sync.resources',
        hint: `${remove}, or add it to sync.resources`,
      }
}

function revokedWords(tenantId: Int64): Words {
  const hint = `Ask its owner to grant access again, add it to sync.exceptTenants, or type shopsync forget --tenant ${tenantId}`
  return { what: `tenant ${tenantId}`, found: 'is no longer granted; its rows are kept', hint }
}

function alertWords({ whom, found }: Extract<Trial, { of: 'alert' }>, ok: boolean): Words {
  const where = whom.startsWith('alerts.') ? 'the alerts section of the configuration' : 'the file of the job'
  const hint = ok ? null : `Nobody is notified there: fix it in ${where}`
  return { what: whom, found: `${ok ? 'accepted the test' : 'did not accept the test'}: ${found}`, hint }
}

function resourceWords({ error, resource }: Extract<Trial, { of: 'resource' }>): Words {
  const { message, hint } = wordsOf(error)
  const advice = `Other resources answer, so ask the API operator about this one; to continue without it, set "enabled": false under resources.${resource}`
  return { what: `resource ${resource}`, found: message, hint: hint ? `${hint}. ${advice}` : advice }
}

function probeWords({ probe, changes }: Extract<Trial, { of: 'probe' }>): Words {
  const what = 'source behavior'
  const news = changes.length === 0 ? '' : `changed since the last check: ${changesText(changes)}`
  const fault = probeFault(probe)
  if (!fault) return { what, found: news || `${probe.resource} of tenant ${probe.tenant_id}: see below` }
  return { what, found: news ? `${fault.found}; ${news}` : fault.found, hint: fault.hint }
}

function clockWords(skew: number | undefined, ok: boolean): Words {
  const what = 'clock'
  if (skew === undefined)
    return {
      what,
      found: 'not compared: the API sends no Date',
      hint: 'Compare it yourself: timedatectl',
    }
  if (ok) return { what, found: "agrees with the API's" }
  const found = `${span(Math.abs(skew))} ${skew > 0 ? 'ahead of' : 'behind'} the API's`
  return { what, found, hint: "Correct this machine's clock: timedatectl set-ntp true" }
}

const troubleWords = (trial: Extract<Trial, { of: 'views' | 'reader' }>): Words => ({
  what: trial.of === 'views' ? 'views' : trial.role === null ? 'schema public' : `reader ${trial.role}`,
  found: trial.trouble.message,
  hint: trial.trouble.hint,
})

function viewChangesWords({ changes, autoMigrate }: Extract<Trial, { of: 'view changes' }>): Words {
  const when = autoMigrate ? 'by the next run' : 'by shopsync migrate; runs leave them alone'
  return { what: 'views', found: `${viewChangesText(changes)}, ${when}` }
}

function warehouseWords({ where, changes, absent }: Extract<Trial, { of: 'warehouse' }>, ok: boolean): Words {
  const what = 'warehouse'
  if (changes === 0) return { what, found: `${where}: writable, tables up to date` }
  const found = `${absent === undefined ? `${where}: ` : `${absent}; `}writable, ${plural(changes, 'table change')} to make`
  return ok ? { what, found: `${found} by the next run` } : { what, found, hint: 'Type shopsync migrate' }
}

function databaseWords(trial: Extract<Trial, { of: 'held columns' | 'table' | 'encoding' }>): Words {
  if (trial.of === 'held columns')
    return {
      what: 'privacy',
      found: `${joinedNames(trial.columns, mostNamed)} stay hidden as before, although the preset no longer hides them`,
      hint: 'Type shopsync migrate --loosen-privacy to store what the source has; or name them under privacy, and they stay hidden',
    }
  if (trial.of === 'encoding') return { what: 'encoding', ...encodingWords(trial.encoding) }
  const { table: name, problem, hint } = trial.interference
  return { what: name === undefined ? 'database' : `table ${name}`, found: `found ${problem}`, hint }
}

const shownTenants = 20

/** What is well, how the source behaves, then each fault once with its fix. */
export function checkText(trials: readonly Trial[], terminal: Terminal = plainTerminal): string {
  const names = trials.flatMap((trial) => (trial.of === 'event names' ? trial.names : []))
  const findings = trials.map((trial) =>
    trial.of === 'event names'
      ? { ...findingOf(trial), found: `${count(trial.names.length)} to register: see below` }
      : findingOf(trial),
  )
  const good = findings.filter(({ ok }) => ok)
  const tenants = good.filter(({ what }) => what.startsWith('tenant '))
  const shown = tenants.length <= shownTenants ? good : good.filter((finding) => !tenants.includes(finding))
  // What is worth knowing but no fault has a hint, too.
  const rows = shown.map(({ what, found, hint }) =>
    hint === null ? ['✓', what, found] : ['!', what, `${found}. ${hint}`],
  )
  if (tenants.length > shownTenants) rows.push(['✓', 'tenants', `${count(tenants.length)} readable`])
  const ways = trials.flatMap((trial) =>
    trial.of === 'probe' ? [probeText(trial.probe, trial.changes, terminal)] : [],
  )
  const bad = findings.filter(({ ok }) => !ok)
  const isWell = rows.every(([mark]) => mark === '✓')
  const well = isWell ? 'All is well.' : 'Nothing must be fixed; the lines with ! are worth a look.'
  const end = bad.length === 0 ? `${well} Type shopsync sync` : `${plural(bad.length, 'thing')} to fix:`
  const wellText =
    rows.length === 0 ? '' : table(['', 'checked', { title: 'found', keepWords: true }], rows, terminal)
  return `${paragraphs([wellText, namesText(names), ...ways, [end, ...remedies(bad)].join('\n')])}\n`
}

/** The actions of one kind of record. */
const namesOnLine = 3

/** In the table they would be one line of 700 characters. */
function namesText(names: readonly string[]): string {
  if (names.length === 0) return ''
  const lines = [...inParts(names, namesOnLine)].map((some) => `  ${some.join(' ')}`)
  return ['Event names to register at the source:', ...lines].join('\n')
}

/** What is wrong, one per line. */
export const checkTroubles = (trials: readonly Trial[]): string[] =>
  shared(trials.map(findingOf).filter(({ ok }) => !ok)).map(
    ({ names, found, hint }) => `check: ${names}: ${found}${hint === null ? '' : `. ${hint}`}`,
  )

const shownNames = 8

/** A fault that several tenants or resources share is listed once: a wrong key is the fault of none of them. */
function shared(bad: readonly CheckFinding[]) {
  const alike = new Map<
    string,
    { readonly whats: string[]; readonly found: string; readonly hint: string | null }
  >()
  for (const { what, found, hint } of bad) {
    const short = shortRequests(found)
    const key = JSON.stringify([short, hint])
    const known = alike.get(key) ?? { whats: [], found: short, hint }
    known.whats.push(what)
    alike.set(key, known)
  }
  return [...alike.values()].map(({ whats, ...fault }) => {
    const more = whats.length - shownNames
    const names = [...whats.slice(0, shownNames), ...(more > 0 ? [`and ${count(more)} more`] : [])]
    return { ...fault, names: names.join(', ') }
  })
}

const remedies = (bad: readonly CheckFinding[]): string[] =>
  shared(bad).map(({ names, found, hint }) =>
    indent(`✗ ${names}: ${found}${hint === null ? '' : `\n  → ${hint}`}`),
  )
