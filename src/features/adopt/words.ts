import { paragraphs } from '../../engine/base/format.js'
import type { Adopted } from './work.js'

const named = ({ base_url, partner_id }: Adopted['to']): string => `${base_url} (partner ${partner_id})`

const nowOf = ({ from }: Adopted): string =>
  from === null ? 'belongs to no source yet' : `belongs to ${named(from)}`

const consequence = ({ same_data }: Adopted): string =>
  same_data
    ? 'Everything is kept: rows, watermarks, registers and history.'
    : 'The rows are kept. Watermarks, walks, registers and everything else that vouched for them are dropped: the next sync reads every list again.'

export const adoptQuestion = (plan: Adopted, name: string): string =>
  `${plan.warehouse} ${nowOf(plan)}.\nIt will belong to ${named(plan.to)}.\n${consequence(plan)}\nType ${name} to continue: `

export function adoptText(done: Adopted): string {
  const { changed, same_data, to, warehouse } = done
  if (!changed) return `${warehouse} belongs to ${named(to)} already; nothing was changed.`
  const next = same_data
    ? 'Type shopsync sync'
    : 'Type shopsync sync, then shopsync reconcile --full: it marks the rows that this source does not have as deleted (--accept-deletes confirms more than a fifth of a list).'
  return paragraphs([`${warehouse} belongs to ${named(to)} now. ${consequence(done)}`, next])
}
