/**
 * The stable part of a command's document: anything that differs between runs (today's instants, durations, addresses,
 * folders, the version) becomes a placeholder. Every key and every other value stays.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { root } from './tree.js'

/** A text from this environment, and the placeholder that replaces it. */
export type Replacement = readonly [text: string, placeholder: string]

const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }

/** Keys whose numbers depend on the time of day, on the machine, or on the year in which the test runs. */
const measured = /(_ms|_seconds|^minutes|^remaining|^digest)$/

/** Texts that are repeated elsewhere; the dictionary's are checked by schema/dictionary/. */
const elsewhere = /^(description|grain|sql|source|about|title)$/

const months = 'January|February|March|April|May|June|July|August|September|October|November|December'

const patterns: readonly (readonly [RegExp, string])[] = [
  [/\b\d+(?:\.\d+)? (?:ms|seconds?|s)\b/g, '<duration>'],
  [/\bwithin the last second\b/g, 'within the last <duration>'],
  [/\b[\d,]+ of [\d,]+ requests left\b/g, '<requests left>'],
  [/\boldest: [\w ]+ of [^"]+/g, '<oldest>'],
  [/\b(?:a moment|[\d,]+ (?:minute|hour|day)s?) (old|before this report)\b/g, '<age> $1'],
  [/\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g, '<uuid>'],
  [new RegExp(`\\b(${months}|[A-Z][a-z]{2}) \\d{1,2}, 2\\d{3}\\b`, 'g'), '<day>'],
  [new RegExp(`\\b(${months}) 2\\d{3}\\b`, 'g'), '<month>'],
]

const runId = /\b\d{8}T\d{6}-[0-9a-f]{6}\b/g

/** Makes the documents of one scenario stable; a run has the same number in all of them. */
export class Stabilizer {
  readonly #runs: string[] = []

  /** `told`: replaces what belongs to a run, such as its instants and addresses. */
  constructor(private readonly told: (text: string) => string = (text) => text) {}

  text(text: string): string {
    let changed = this.told(text).replaceAll(version, '<version>').replaceAll(process.execPath, '<node>')
    for (const [pattern, placeholder] of patterns) changed = changed.replaceAll(pattern, placeholder)
    return changed.replaceAll(runId, (id) => `<run ${this.#numberOf(id)}>`)
  }

  #numberOf(id: string): number {
    if (!this.#runs.includes(id)) this.#runs.push(id)
    return this.#runs.indexOf(id) + 1
  }

  /** `withTexts`: false if the texts of a dictionary are left out. */
  value(value: unknown, withTexts: boolean, key = ''): unknown {
    if (value === null || typeof value === 'boolean') return value
    if (measured.test(key)) return '<measured>'
    if (typeof value === 'string') return withTexts || !elsewhere.test(key) ? this.text(value) : '<text>'
    if (Array.isArray(value)) return inOrder(value, key).map((item) => this.value(item, withTexts, key))
    if (typeof value !== 'object') return value
    const fields = Object.entries(withoutMovingRows(value)).map(([name, item]) => [
      this.text(name),
      this.value(item, withTexts, name),
    ])
    return Object.fromEntries(fields)
  }
}

/** Tables whose number of rows depends on the database, or on the time: on the year, on how long requests took. */
const movingTables = new Set(['report_calendar', 'report_clocks', 'sync_counters'])

/** What is undocumented is recorded with the tenant that was first, so another one may have none of it. */
const isOfOne = ({ table }: { readonly table: string }): boolean => table !== 'sync_drift'

const rowsOfTable = z.looseObject({ table: z.string(), rows: z.number() })
const rowsOfTables = z.looseObject({ rows: z.number(), tables: z.array(rowsOfTable) })

function withoutMovingRows(value: object): object {
  const { data } = rowsOfTable.safeParse(value)
  const { data: all } = rowsOfTables.safeParse(value)
  if (all) return { ...value, rows: '<measured>', tables: all.tables.filter(isOfOne) }
  return data && movingTables.has(data.table) ? { ...value, rows: '<measured>' } : value
}

/** Lists whose order depends on how long each of their items took. */
const unordered = new Set(['cursors', 'lateness'])

const sortKey = z.object({
  step: z.number().default(1),
  tenant_id: z.number().default(0),
  resource: z.string(),
})

function inOrder(list: readonly unknown[], name: string): readonly unknown[] {
  if (!unordered.has(name)) return list
  const textOf = (item: unknown): string => JSON.stringify(Object.values(sortKey.parse(item)))
  return list.toSorted((a, b) => (textOf(a) < textOf(b) ? -1 : 1))
}

/** JSON with everything that fits on one line: a change shows as few changed lines. */
export function inLines(given: unknown, indent = ''): string {
  // A text of several lines is shown as a list of them.
  const value = typeof given === 'string' && given.includes('\n') ? given.split('\n') : given
  const short = JSON.stringify(value) ?? 'null'
  if (short.length + indent.length <= 160 || value === null || typeof value !== 'object') return short
  const deeper = `${indent}  `
  const lines = Array.isArray(value)
    ? value.map((item) => `${deeper}${inLines(item, deeper)}`)
    : Object.entries(value).map(([key, item]) => `${deeper}${JSON.stringify(key)}: ${inLines(item, deeper)}`)
  const [open, close] = Array.isArray(value) ? '[]' : '{}'
  return `${open}\n${lines.join(',\n')}\n${indent}${close}`
}
