/** The files of deploy/ agree with the program: its jobs, its flags, its addresses, its configuration. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { jobSchema } from '../../src/config/job.js'
import { readDocument } from '../../src/config/load.js'
import { configReference } from '../../src/config/reference.js'
import { configSchema } from '../../src/config/schema.js'
import { tablesOf } from '../../src/model/tables.js'
import { scratch } from '../support/scratch.js'
import { filesIn, root } from '../support/tree.js'

const text = (path: string): string => readFileSync(join(root, path), 'utf8')
const jobs = filesIn('jobs', '.json').map((path) => ({
  name: /([\w-]+)\.json$/.exec(path)?.[1] ?? '',
  ...(JSON.parse(text(path)) as { schedule?: string }),
}))
const planned = jobs.filter(({ schedule }) => schedule !== undefined)

test('docs/configuration.md is what the checks of the configuration say', () => {
  const reference = configReference(configSchema(tablesOf), jobSchema())
  expect(text('docs/configuration.md'), 'stale: run `npm run build`').toBe(reference)
  for (const key of ['api.baseUrl', 'resources.NAME.columns', 'alerts.rules[].on', 'steps[].last'])
    expect(reference).toContain(`| \`${key}\` |`)
})

test('the crontab plans each job as its file does', () => {
  const lines = text('deploy/crontab').split('\n')
  for (const { name, schedule } of planned)
    expect(lines.find((line) => line.includes(`shopsync run ${name} `))).toMatch(
      new RegExp(`^${(schedule ?? '').replaceAll('*', '\\*')} +cd /srv/shopsync && `),
    )
})

test('systemd has a timer for each planned job', () => {
  const timers = filesIn('deploy/systemd', '.timer').map((path) => /shopsync-([\w-]+)\.timer/.exec(path)?.[1])
  expect(timers.sort()).toEqual(planned.map(({ name }) => name).sort())
  for (const name of timers)
    expect(text(`deploy/systemd/shopsync-${name}.timer`)).toContain(`Unit=shopsync@${name}.service`)
})

interface Pod {
  readonly securityContext: { readonly runAsNonRoot: boolean }
  readonly containers: readonly {
    readonly args: readonly string[]
    readonly securityContext: { readonly readOnlyRootFilesystem: boolean }
    readonly livenessProbe?: { readonly httpGet: { readonly path: string } }
  }[]
}

describe('Kubernetes', () => {
  const crons = parseAllDocuments(text('deploy/kubernetes/cronjob.yaml')).map(
    (document) =>
      document.toJS() as {
        spec: { schedule: string; jobTemplate: { spec: { template: { spec: Pod } } } }
      },
  )
  const deployment = parse(text('deploy/kubernetes/deployment.yaml')) as { spec: { template: { spec: Pod } } }

  test('has a CronJob for each planned job', () => {
    const found = crons.map(({ spec }) => ({
      name: spec.jobTemplate.spec.template.spec.containers[0]!.args[1],
      schedule: spec.schedule,
    }))
    const order = (a: { name?: string | undefined }, b: { name?: string | undefined }): number =>
      String(a.name).localeCompare(String(b.name))
    expect(found.sort(order)).toEqual(planned.map(({ name, schedule }) => ({ name, schedule })).sort(order))
  })

  test('runs as nobody in particular, on a root that cannot be written', () => {
    for (const pod of [
      deployment.spec.template.spec,
      ...crons.map(({ spec }) => spec.jobTemplate.spec.template.spec),
    ]) {
      expect(pod.securityContext.runAsNonRoot).toBe(true)
      for (const { securityContext } of pod.containers)
        expect(securityContext.readOnlyRootFilesystem).toBe(true)
    }
    expect(deployment.spec.template.spec.containers[0]?.livenessProbe?.httpGet.path).toBe('/health')
  })
})

test('the configurations of compose and Kubernetes are taken', () => {
  const map = parse(text('deploy/kubernetes/config.yaml')) as { data: Record<string, string> }
  const folder = scratch()
  for (const source of [text('deploy/compose/shopsync.json'), map.data['config.json']!]) {
    // The secrets are files of a container; here they are texts.
    const document = JSON.parse(
      source
        .replaceAll(/\{ "file": "[^"]+warehouse_url" \}/g, '"postgres://u:p@h/d"')
        .replaceAll(/\{ "file": "[^"]+api_secret" \}/g, '"s"'),
    ) as unknown
    const options = { environment: {}, workingDirectory: folder, tablesOf, name: 'config.json' }
    expect(() => readDocument(document, options)).not.toThrow()
  }
})

test('compose keeps the scheduler from everything but its folder, and the page from other machines', () => {
  const { services } = parse(text('deploy/compose/compose.yaml')) as {
    services: { shopsync: { read_only: boolean; cap_drop: string[]; ports: string[] } }
  }
  expect(services.shopsync).toMatchObject({ read_only: true, cap_drop: ['ALL'] })
  for (const port of services.shopsync.ports) expect(port).toMatch(/^127\.0\.0\.1:/)
})
