/**
 * deploy/prometheus and deploy/grafana only query metrics that exist, and only link to headings of the runbook that
 * exist.
 */
import { expect, it } from 'vitest'
import { parse } from 'yaml'
import { metricNames } from '../support/harness/declared.js'
import { textOf } from '../support/harness/tree.js'

interface Dashboard {
  readonly panels: readonly {
    readonly id: number
    readonly title: string
    readonly description: string
    readonly targets: readonly { readonly expr: string }[]
  }[]
}
interface Rules {
  readonly groups: readonly {
    readonly rules: readonly {
      readonly alert: string
      readonly expr: string
      readonly annotations: { readonly summary: string; readonly runbook: string }
    }[]
  }[]
}

const dashboard = JSON.parse(textOf('deploy/grafana/shopsync.json')) as Dashboard
const rules = (parse(textOf('deploy/prometheus/rules.yml')) as Rules).groups.flatMap((group) => group.rules)

const series = new Set(
  metricNames.flatMap(({ name, type }) =>
    type === 'histogram' ? ['_bucket', '_sum', '_count'].map((part) => `${name}${part}`) : [name],
  ),
)
const strangers = (text: string): string[] =>
  [...text.matchAll(/\bshopsync_\w+/g)].map(([name]) => name).filter((name) => !series.has(name))

it('use metrics that the product shows, and the dashboard shows every one of them', () => {
  const queries = dashboard.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr))
  expect([...queries, ...rules.map(({ expr }) => expr)].flatMap(strangers)).toEqual([])
  expect(strangers('sum(shopsync_runs) + shopsync_runs_total')).toEqual(['shopsync_runs'])
  const shown = queries.join('\n')
  const left = metricNames.map(({ name }) => name).filter((name) => !shown.includes(name))
  // The version is what the instances are listed by.
  expect(left).toEqual(['shopsync_build_info'])
  for (const expr of queries) expect(expr).toContain('instance=~"$instance"')
})

it('each rule leads to a heading, and each panel says what it shows', () => {
  const anchors = [...textOf('docs/runbook.md').matchAll(/^## (.+)$/gm)].map(
    ([, heading = '']) => `docs/runbook.md#${heading.toLowerCase().replaceAll(' ', '-')}`,
  )
  for (const { alert, annotations } of rules)
    expect([alert, anchors.includes(annotations.runbook)]).toEqual([alert, true])
  expect(new Set(rules.map(({ annotations }) => annotations.runbook)).size).toBe(10)
  expect(new Set(dashboard.panels.map(({ id }) => id)).size).toBe(dashboard.panels.length)
  for (const { title, description } of dashboard.panels)
    expect([title, description.length > 10]).toEqual([title, true])
})
