/** A report as the program makes it, and its page as a reader has it: parsed once for all tests that look at it. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll } from 'vitest'
import { done } from '../../support/harness/call.js'
import { scratch } from '../../support/harness/scratch.js'
import { restoreTimeOfDay, setTimeOfDay } from '../../support/harness/shiftedclock.js'

/** From now on it is this instant for the tests of the file: which days a shop was open doesn't depend on the real one. */
export function itIs(instant: string): void {
  setTimeOfDay(Date.parse(instant))
  afterAll(restoreTimeOfDay)
}

const signs: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"', '#39': "'" }

/** What a browser shows of a piece of HTML. */
const shown = (html: string): string =>
  html
    .replaceAll(/<br>|<\/span><span/g, ' $&')
    .replaceAll(/<[^>]*>/g, '')
    .replaceAll(/&(#?\w+);/g, (whole, name: string) => signs[name] ?? whole)
    .replaceAll('\u00a0', ' ')
    .trim()

/** `$1,234.50` and `12` as numbers; `–`, which nobody knows, as 0. */
export const numberOf = (text: string | undefined): number =>
  Number((text ?? '–').replaceAll(/[$,%]/g, '').replace('–', '0').replace('−', '-'))

export class Page {
  constructor(readonly html: string) {}

  /** The part with this id, up to where the next one of its kind begins. */
  part(id: string): string {
    const at = this.html.indexOf(` id="${id}"`)
    if (at === -1) throw new Error(`The page has nothing called ${id}`)
    const from = this.html.lastIndexOf('<', at)
    const [, tag = ''] = /^<(\w+)/.exec(this.html.slice(from)) ?? []
    const next = this.html.indexOf(`<${tag}`, at)
    return this.html.slice(from, next === -1 ? undefined : next)
  }

  has(id: string): boolean {
    return this.html.includes(` id="${id}"`)
  }

  /** The ids that begin with this. */
  ids(beginning: string): string[] {
    return [...this.html.matchAll(/ id="([^"]+)"/g)]
      .map(([, id = '']) => id)
      .filter((id) => id.startsWith(beginning))
  }

  headings(level = '23'): string[] {
    return [...this.html.matchAll(new RegExp(`<h[${level}][^>]*>(.*?)</h`, 'gs'))].map(([, title = '']) =>
      shown(title),
    )
  }

  title(id: string): string {
    return shown(/<h3[^>]*>(.*?)<\/h3>/s.exec(this.part(id))?.[1] ?? '')
  }

  /** Its definition, and what it leaves out. */
  caption(id: string): string {
    return shown(
      /<(?:figcaption|p class="caption")>(.*?)<\/(?:figcaption|p)>/s.exec(this.part(id))?.[1] ?? '',
    )
  }

  summary(id: string): string {
    return shown(/<summary>(.*?)<\/summary>/s.exec(this.part(id))?.[1] ?? '')
  }

  /** The rows of a table, its heads first; none if there is nothing to show. */
  table(id: string): string[][] {
    const from = this.html.indexOf(` id="${id}"`)
    const start = this.html.indexOf('<table', from)
    // A part has one title: behind the next one begins another part.
    const isOwn = from !== -1 && this.html.slice(from, start).split('<h3').length < 3
    const rows = isOwn
      ? this.html.slice(start, this.html.indexOf('</table>', start)).split('<tr').slice(1)
      : []
    return rows.map((row) =>
      [...row.matchAll(/<t[hd][^>]*>(.*?)<\/t[hd]>/gs)].map(([, cell = '']) => shown(cell)),
    )
  }

  /** The rows of a table by their first cell, whose notes are left out. */
  rows(id: string): Map<string, string[]> {
    const [, ...rows] = this.table(id)
    return new Map(rows.map(([head = '', ...cells]) => [head.replace(' incomplete', ''), cells]))
  }

  column(id: string, head: string): string[] {
    const [heads = [], ...rows] = this.table(id)
    const at = heads.indexOf(head)
    if (at === -1) throw new Error(`${id} has the columns ${heads.join(', ')}, and no ${head}`)
    return rows.map((row) => row[at] ?? '')
  }

  /** The answer of a card, and below it its facts: each a value, its notes, and its changes. */
  card(id: string): {
    readonly answer: string
    readonly facts: ReadonlyMap<string, readonly string[]>
    readonly remarks: string
  } {
    const at = this.html.indexOf(`aria-labelledby="${id}"`)
    const text = this.html.slice(at, this.html.indexOf('</article>', at))
    const facts = [...text.matchAll(/<dt>(.*?)<\/dt><dd>(.*?)<\/dd>/gs)].map(([, label = '', value = '']) => {
      const parts = value.split(/(?:<\/b>|<\/span>)(?=<|$)/)
      return [shown(label), parts.map(shown).filter((part) => part !== '')] as const
    })
    const answer = shown(/<p class="answer">.*?<\/i><span>(.*?)<\/span>/s.exec(text)?.[1] ?? '')
    return {
      answer,
      facts: new Map(facts),
      remarks: shown(/What this means<\/summary>(.*?)<\/details>/s.exec(text)?.[1] ?? ''),
    }
  }

  /** What a reader can choose. */
  choices(pick: 'scope' | 'period'): string[] {
    const [, options = ''] = new RegExp(`data-pick="${pick}">(.*?)</select>`, 's').exec(this.html) ?? []
    return [...options.matchAll(/<option[^>]*>(.*?)<\/option>/g)].map(([, text = '']) => shown(text))
  }
}

/** Makes a report into a file of its own; the document is that of --json. */
export async function makeReport(config: string, ...words: readonly string[]) {
  const file = join(scratch(), 'page.html')
  const ended = await done(config, 'report', '--json', '--out', file, ...words)
  return { document: ended.json<Record<string, unknown>>(), page: new Page(readFileSync(file, 'utf8')) }
}
