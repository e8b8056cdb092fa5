/* An answer at the top of the report: a sentence, and the figures behind it. */
import type { PeriodComparison } from './data.js'
import type { Trend } from './numberwords.js'
import type { Tone } from './trustsentence.js'

export interface Fact {
  readonly label: string
  readonly value: string
  readonly notes: readonly string[]
  readonly trends: readonly (Omit<PeriodComparison, 'now' | 'before'> & { readonly trend: Trend })[]
}

export interface QuestionAnswer {
  readonly id: 'trust' | 'month' | 'today' | 'yesterday'
  readonly question: string
  readonly sentence: string
  readonly tone: Tone
  readonly facts: readonly Fact[]
  /** What the words in the facts mean, and what none of them includes. */
  readonly remarks: readonly string[]
}

export const fact = (label: string, value: string, ...notes: readonly string[]): Fact => ({
  label,
  value,
  notes: notes.filter((note) => note !== ''),
  trends: [],
})
