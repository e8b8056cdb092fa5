/*
 * The trials of `shopsync check` in words: one finding a trial, and the text of all of them. Used by
 * src/cli/commands/check.ts; the facts come from src/sync/ask/check.ts.
 */
import { wordsOf } from '../../errors.js'
import { count, indent, paragraphs, plural, span, table } from '../../format.js'
import type { Trial } from '../../sync/ask/check.js'

/** One trial in words: an entry of the document of `check`, and a line of its text. */
export interface CheckFinding {
  readonly what: string
  readonly ok: boolean
  readonly found: string
  /** How to mend the trouble. */
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
    case 'environment': {
      const { variables } = trial
      const found = variables.length === 0 ? 'nothing is taken from it' : `${variables.join(', ')} set`
      return { what: 'environment', found }
    }
    case 'credentials': {
      const { granted, window } = trial
      const rate = window
        ? `; ${count(window.remaining)} of ${count(window.limit)} requests left in this window`
        : ''
      const hint = ok ? null : "Ask the operator's support for access, on behalf of the tenant's owner"
      return { what: 'credentials', found: `accepted; ${plural(granted, 'tenant')} granted${rate}`, hint }
    }
    case 'clock':
      return clockWords(trial.skew, ok)
    case 'grant': {
      const granted = trial.granted.slice(0, 20).join(', ') || 'none'
      const hint = `Granted are ${granted}. Ask for the grant, or take it out of sync.tenants`
      return { what: `tenant ${trial.tenantId}`, found: 'is not granted to this partner', hint }
    }
    case 'tenant': {
      const { tenantId, readable } = trial
      const found = readable
        ? `readable; ${count(readable.records)} ${readable.resource}`
        : 'not tried: no documented resource is enabled'
      return { what: `tenant ${tenantId}`, found }
    }
    case 'warehouse':
      return warehouseWords(trial, ok)
    case 'failure': {
      const { message, hint = null } = wordsOf(trial.error)
      return { what: trial.what, found: message, hint }
    }
    default:
      return trial satisfies never
  }
}

function clockWords(skew: number | undefined, ok: boolean): Words {
  const what = 'clock'
  if (skew === undefined) return { what, found: 'the API sends no Date to compare with' }
  if (ok) return { what, found: "agrees with the API's" }
  const found = `${span(Math.abs(skew))} ${skew > 0 ? 'ahead of' : 'behind'} the API's`
  return { what, found, hint: 'Set this machine right: timedatectl set-ntp true' }
}

function warehouseWords({ where, changes }: Extract<Trial, { of: 'warehouse' }>, ok: boolean): Words {
  const what = 'warehouse'
  if (changes === 0) return { what, found: `${where}: writable, tables up to date` }
  const found = `${where}: writable, ${plural(changes, 'table change')} to be made`
  return ok ? { what, found: `${found} by the next run` } : { what, found, hint: 'Type shopsync migrate' }
}

const shownTenants = 20

export function checkText(findings: readonly CheckFinding[]): string {
  const fine = findings.filter((finding) => finding.ok && finding.what.startsWith('tenant '))
  const shown = fine.length <= shownTenants ? findings : findings.filter((finding) => !fine.includes(finding))
  const rows = shown.map(({ ok, what, found }) => [ok ? '✓' : '✗', what, found.split('\n')[0] ?? ''])
  if (fine.length > shownTenants) rows.push(['✓', 'tenants', `${count(fine.length)} readable`])
  const bad = findings.filter((finding) => !finding.ok)
  const end = bad.length === 0 ? 'All is well. Type shopsync sync' : `${plural(bad.length, 'thing')} to mend:`
  return `${paragraphs([table(['', 'checked', 'found'], rows), [end, ...bad.map(remedy)].join('\n')])}\n`
}

const remedy = ({ what, found, hint }: CheckFinding): string =>
  indent(`✗ ${what}: ${found}${hint ? `\n  → ${hint}` : ''}`)
