/* The probe's findings of `shopsync check` in words. Used by src/features/check/words.ts. */
import { plural } from '../../engine/base/format.js'
import { plainTerminal, type Terminal } from '../../shell/terminal.js'
import { table } from '../../shell/texttable.js'
import type { Probe, ProbeAnswers, ProbeChange } from './probe.js'

type Words = { readonly [Q in keyof ProbeAnswers]: Readonly<Record<NonNullable<ProbeAnswers[Q]>, string>> }

const titles: Readonly<Record<keyof ProbeAnswers, string>> = {
  order: 'order',
  beyond_end: 'pages beyond the end',
  updated_after: 'updated_after',
  precision: 'times are printed in',
  filter: 'updated_after reads times',
  totals: 'totals',
  ties: 'records with equal times',
  by_id: 'by id',
  etag: 'ETag',
  rate_headers: 'rate-limit headers',
  date_skew: 'Date',
  gzip: 'gzip',
}

const words: Words = {
  order: { newest_first: 'newest first', other: 'not newest first: verdicts are at best repaired' },
  beyond_end: { empty: 'are empty', refused: 'are refused', records: 'show records' },
  updated_after: {
    strict: 'excludes the time it names',
    inclusive: 'includes the time it names',
    other: 'follows no rule that was recognized',
  },
  precision: { seconds: 'seconds', milliseconds: 'milliseconds', microseconds: 'microseconds' },
  filter: {
    as_printed: 'as they are printed',
    finer: 'with more digits than are printed',
    coarser: 'with fewer digits than are printed',
  },
  totals: {
    equal: 'are the same with and without updated_after',
    more_without_filter: 'are larger without updated_after: no sync reads the rest',
    fewer_without_filter: 'are smaller without updated_after',
    missing: 'are not sent: verdicts are at best listed',
  },
  ties: { stable: 'keep their order', unstable: 'change their order between two responses' },
  by_id: {
    works: 'shows an existing record, and answers 404 for a missing one',
    hides_what_is_there: 'does not show a record that is in the list',
    shows_what_is_not_there: 'does not answer 404 for a missing record',
  },
  etag: { stays: 'the same for the same response', changes: 'new for the same response', none: 'not sent' },
  rate_headers: { sent: 'sent', missing: 'missing or incomplete' },
  date_skew: {
    agrees: "agrees with this machine's clock",
    differs: "differs from this machine's clock",
    missing: 'not sent',
  },
  gzip: { sent: 'sent when requested', not_sent: 'not sent when requested' },
}

const said = (question: keyof ProbeAnswers, answer: string | null): string =>
  answer === null
    ? 'could not be determined'
    : ((words[question] as Record<string, string>)[answer] ?? answer)

/** A table of how the source behaves, and what has changed since the last probe. */
export function probeText(
  probe: Probe,
  changes: readonly ProbeChange[],
  terminal: Terminal = plainTerminal,
): string {
  const questions = Object.keys(titles) as (keyof ProbeAnswers)[]
  const changed = new Map(changes.map(({ question, before }) => [question, before]))
  const rows = questions.map((question) => {
    const before = changed.get(question)
    const news = before === undefined ? '' : `changed; before: ${said(question, before)}`
    return [titles[question], said(question, probe.answers[question]), news]
  })
  const { tenant_id, resource, records, requests } = probe
  const head = `How the source behaves, from ${plural(requests, 'request')} for ${resource} of tenant ${tenant_id} (${plural(records, 'record')}):`
  return `${head}\n${table(['asked', 'found', ...(changes.length > 0 ? ['news'] : [])], rows, terminal)}`
}

/** What has changed, in one line. */
export const changesText = (changes: readonly ProbeChange[]): string =>
  changes
    .map(
      ({ question, before, now }) =>
        `${titles[question]}: ${said(question, now)} (before: ${said(question, before)})`,
    )
    .join('; ')

/** What keeps the source from being read completely, and how to fix it; undefined if nothing does. */
export function probeFault({ answers, resource }: Probe): { found: string; hint: string } | undefined {
  if (answers.totals === 'more_without_filter')
    return {
      found: `${resource}: ${said('totals', answers.totals)}`,
      hint: 'Type shopsync reconcile --full, which reads the list without updated_after; ask the API operator which records have no true updated_at',
    }
  if (answers.by_id !== null && answers.by_id !== 'works')
    return {
      found: `${resource} by id: ${said('by_id', answers.by_id)}`,
      hint: 'Ask the API operator: reconcile marks rows as deleted only where their record answers 404 by its id',
    }
  return undefined
}
