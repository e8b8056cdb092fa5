/* The manifests of deploy/kubernetes, for the jobs that have a schedule and whatever else is configured here. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { packageFolder } from '../../shell/package.js'
import type { Start } from './start.js'

const deployed = (name: string): string =>
  readFileSync(join(packageFolder(), 'deploy/kubernetes', name), 'utf8').trimEnd()

/** The names that Kubernetes takes. */
const nameOf = (job: string): string => job.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')

/** The configuration first. In place of the scheduler, Kubernetes itself starts the jobs. */
export function manifests({ api, jobs, ownJobs, timeZone, shards, hears }: Start): string[] {
  const [hourly = ''] = deployed('cronjob.yaml').split('\n---\n')
  const files = ownJobs.map(
    ({ name, text }) => `  ${name}.json: |\n${text.trimEnd().replaceAll(/^/gm, '    ')}`,
  )
  const keys = ['config.json', ...ownJobs.map(({ name }) => `${name}.json`)]
  const items = keys.map((key, i) => `{ key: ${key}, path: ${i === 0 ? key : `jobs/${key}`} }`)
  const sent = shards === 0 ? '' : `, --enqueue, "${shards}"`
  const crons = jobs.map(({ name, schedule }) =>
    hourly
      .replace('name: shopsync-hourly', () => `name: shopsync-${nameOf(name)}`)
      .replace(/schedule: .*/, () => `schedule: ${JSON.stringify(schedule)}`)
      .replace(/timeZone: .*/, () => `timeZone: ${timeZone === 'UTC' ? 'Etc/UTC' : timeZone}`)
      .replace('args: [run, hourly]', () => `args: [run, ${JSON.stringify(name)}${sent}]`),
  )
  const config = deployed('config.yaml')
    .replace('"https://api.example.com"', () => JSON.stringify(api.baseUrl))
    .replace('"42"', () => JSON.stringify(api.partnerId))
  const all = [
    [config, ...files].join('\n'),
    ...crons,
    ...(hears ? [deployed('listen.yaml')] : []),
    ...(shards === 0 ? [] : [deployed('worker.yaml')]),
  ]
  return ownJobs.length === 0
    ? all
    : all.map((one) =>
        one.replace(
          'configMap: { name: shopsync }',
          () => `configMap: { name: shopsync, items: [${items.join(', ')}] }`,
        ),
      )
}
