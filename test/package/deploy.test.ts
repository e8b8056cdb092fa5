/** The files of deploy/ agree with the program: its jobs, its flags, its addresses, its configuration, its metrics. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { dirname, join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { readDocument } from '../../src/engine/config/load.js'
import { calendarTimes, checks, metricNames } from '../support/harness/declared.js'
import { listens } from '../support/harness/relays.js'
import type { Json } from '../support/harness/requests.js'
import { scratch } from '../support/harness/scratch.js'
import { filesIn, textOf as text } from '../support/harness/tree.js'

const jobs = filesIn('jobs', '.json').map((path) => ({
  name: /([\w-]+)\.json$/.exec(path)?.[1] ?? '',
  ...(JSON.parse(text(path)) as { schedule?: string }),
}))
const planned = jobs.filter(({ schedule }) => schedule !== undefined)

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
  for (const { name, schedule = '' } of planned) {
    const timer = text(`deploy/systemd/shopsync-${name}.timer`)
    expect(timer).toContain(`Unit=shopsync@${name}.service`)
    // UTC is the default of schedule.timeZone.
    expect(timer.match(/(?<=^OnCalendar=).*$/gm)).toEqual(calendarTimes(schedule, 'UTC'))
  }
})

test('all units of systemd are hardened alike, write where the documents put metrics, and wait for the clock', () => {
  const units = filesIn('deploy/systemd', '.service').map(text)
  const walls = units.map((unit) => /^# The program only[\s\S]*?^# No Memory.*$/m.exec(unit)?.[0])
  expect(walls[0]?.length).toBeGreaterThan(900)
  expect(new Set(walls).size).toBe(1)
  const [, textfile = ''] = /"textfile": "([^"]+)"/.exec(text('docs/operations.md')) ?? []
  for (const unit of units) {
    const [, writable = ''] = /^ReadWritePaths=(.*)$/m.exec(unit) ?? []
    const folders = writable.split(' ').map((path) => path.replace(/^-/, ''))
    expect(folders).toEqual(expect.arrayContaining(['/srv/shopsync', dirname(textfile)]))
    for (const key of ['Wants', 'After'])
      expect(unit).toMatch(new RegExp(`^${key}=.*\\btime-sync\\.target\\b`, 'm'))
  }
})

test('both stages of the image have the same Node', () => {
  const nodes = [...text('deploy/docker/Dockerfile').matchAll(/^FROM (node:\S+)/gm)].map(([, node]) => node)
  expect([nodes.length, new Set(nodes).size]).toEqual([2, 1])
})

/** A server that accepts mail; resolves to what it got after the first mail. */
async function mailServer(): Promise<{ readonly port: number; readonly mail: Promise<string> }> {
  let took: (mail: string) => void = () => {}
  const mail = new Promise<string>((resolve) => {
    took = resolve
  })
  const server = createServer((socket) => {
    let [said, isMail] = ['', false]
    socket.write('220 here\r\n')
    socket.on('data', (chunk: Buffer) => {
      said += chunk.toString()
      if (isMail && !said.endsWith('\r\n.\r\n')) return
      if (isMail) took(said)
      isMail = said.endsWith('DATA\r\n')
      socket.write(isMail ? '354 go on\r\n' : '250 well\r\n')
      said = ''
    })
  })
  const { port, close } = await listens(server)
  onTestFinished(close)
  return { port, mail }
}

const has = (command: string): boolean => spawnSync('sh', ['-c', `command -v ${command}`]).status === 0

test('the mail in the documents is sent where no setuid program works', async (context) => {
  context.skip(!has('setpriv') || !has('curl'), 'this machine has no setpriv or no curl')
  const [, listed = ''] = /"command": (\["curl"[^\]]+\])/.exec(text('docs/operations.md')) ?? []
  const server = await mailServer()
  const words = (JSON.parse(listed) as string[]).map((word) =>
    word.replace('smtp://mail.example.com', `smtp://127.0.0.1:${server.port}`),
  )
  const sent = spawn('setpriv', ['--no-new-privs', ...words], { stdio: ['pipe', 'ignore', 'pipe'] })
  sent.stdin.end('{"text": "notes of tenant 101 failed"}')
  const mail = await server.mail
  const [code] = (await once(sent, 'exit')) as [number | null]
  expect(code).toBe(0)
  expect(mail).toMatch(/^To: ops@example.com\r$/m)
  expect(mail).toMatch(/^Subject: shopsync\r$/m)
  expect(mail).toContain('notes of tenant 101 failed')
})

describe('Kubernetes', () => {
  const documents = (file: string): Json[] =>
    parseAllDocuments(text(`deploy/kubernetes/${file}`)).map((document) => document.toJS())
  const crons = documents('cronjob.yaml')
  const [shards, whole] = documents('shards.yaml')
  const [workers, budget] = documents('worker.yaml')
  const [deployment] = documents('deployment.yaml')
  const jobOf = ({ spec }: Json): Json => spec.jobTemplate.spec
  const podOf = (one: Json): Json => (one.spec.jobTemplate ? jobOf(one) : one.spec).template.spec
  const argsOf = (one: Json): string[] => podOf(one).containers[0].args

  test('has workers that are replaced one at a time, with time to put their shards back', () => {
    expect([workers.spec.strategy.rollingUpdate.maxUnavailable, budget.spec.maxUnavailable]).toEqual([1, 1])
    expect(podOf(workers).terminationGracePeriodSeconds).toBe(90)
    expect(argsOf(workers)).toEqual(['worker'])
  })

  test("has a CronJob for each planned job, which doesn't treat another run at work as a failure", () => {
    const found = crons.map((one) => ({ name: argsOf(one)[1], schedule: one.spec.schedule as string }))
    const inOrder = (
      all: readonly { name?: string | undefined; schedule?: string | undefined }[],
    ): string[] => all.map(({ name, schedule }) => `${name} ${schedule}`).sort()
    expect(inOrder(found)).toEqual(inOrder(planned))
    const onExitCodes = { containerName: 'shopsync', operator: 'In', values: [4] }
    for (const one of crons)
      expect(jobOf(one).podFailurePolicy.rules).toContainEqual({ action: 'Ignore', onExitCodes })
  })

  test('has an index for each shard, and the whole after them', () => {
    const { completions, podFailurePolicy } = jobOf(shards)
    expect(argsOf(shards)[0]).toContain(`--shard "$JOB_COMPLETION_INDEX/${completions}"`)
    const codes = { containerName: 'shopsync', operator: 'In' }
    expect(podFailurePolicy.rules.slice(0, 2)).toEqual([
      { action: 'FailIndex', onExitCodes: { ...codes, values: [2, 70] } },
      { action: 'Ignore', onExitCodes: { ...codes, values: [4, 130, 143] } },
    ])
    expect(argsOf(whole)).toEqual(['run', 'nightly', '--whole'])
    expect(shards.spec.schedule).toBe(planned.find(({ name }) => name === 'nightly')?.schedule)
  })

  test('a shard ends its pod with its own exit code, but with 0 if a list failed; it is told to end when its pod is', () => {
    /** Runs the pod's script with something in place of the program. */
    const status = (program: string): number | null => {
      const folder = scratch()
      writeFileSync(join(folder, 'shopsync'), `#!/bin/sh\n${program}\n`, { mode: 0o755 })
      const env = { PATH: `${folder}:${process.env['PATH']}`, JOB_COMPLETION_INDEX: '3' }
      return spawnSync('sh', ['-c', argsOf(shards)[0] ?? ''], { env }).status
    }
    expect([0, 1, 2, 3, 4].map((code) => status(`exit ${code}`))).toEqual([0, 0, 2, 3, 4])
    // The program's parent is the pod's shell. It doesn't wait for ever, because nothing would end it without that shell.
    const program = "trap 'exit 143' TERM; kill -TERM $PPID; for i in $(seq 100); do sleep 0.05; done"
    expect(status(program)).toBe(143)
  })

  test('runs as an unprivileged user, on a root that can’t be written to, and loses no SQLite file with a pod', () => {
    for (const pod of [deployment, ...crons, shards, whole, workers].map(podOf)) {
      expect(pod.securityContext.runAsNonRoot).toBe(true)
      for (const { securityContext, volumeMounts } of pod.containers) {
        expect(securityContext.readOnlyRootFilesystem).toBe(true)
        const mounted = volumeMounts.map(({ mountPath }: Json) => mountPath)
        expect(mounted).not.toContain('/var/lib/shopsync')
      }
    }
    expect(text('deploy/docker/Dockerfile')).not.toContain('VOLUME')
    for (const one of [deployment, workers])
      expect(podOf(one).containers[0].livenessProbe.httpGet.path).toBe('/health')
  })
})

test('the configurations of compose and Kubernetes are accepted', () => {
  const map = parse(text('deploy/kubernetes/config.yaml')) as { data: Record<string, string> }
  const folder = scratch()
  for (const source of [text('deploy/compose/shopsync.json'), map.data['config.json']!]) {
    // The secrets are files in a container; here they are texts.
    const document = JSON.parse(
      source
        .replaceAll(/\{ "file": "[^"]+warehouse_url" \}/g, '"postgres://u:p@h/d"')
        .replaceAll(/\{ "file": "[^"]+api_secret" \}/g, '"s"'),
    ) as unknown
    const options = { environment: {}, workingDirectory: folder, ...checks, name: 'config.json' }
    expect(() => readDocument(document, options)).not.toThrow()
  }
})

test('compose keeps the scheduler from everything but its folder, and the page from other machines', () => {
  const { services } = parse(text('deploy/compose/compose.yaml')) as Json
  // The secrets are files of the host's user, whose id the container must have: it writes nothing of its own.
  for (const service of [services.shopsync, services.worker]) {
    const user = `\${SHOPSYNC_USER:-1000:1000}`
    expect(service).toMatchObject({ user, read_only: true, cap_drop: ['ALL'] })
    for (const volume of service.volumes) expect(volume).toMatch(/:ro$/)
    for (const port of service.ports ?? []) expect(port).toMatch(/^127\.0\.0\.1:/)
  }
  expect(services.worker.deploy?.replicas).toBe(2)
})

describe('Prometheus and Grafana', () => {
  const { panels } = JSON.parse(text('deploy/grafana/shopsync.json')) as Json
  const rules: Json[] = parse(text('deploy/prometheus/rules.yml')).groups.flatMap((one: Json) => one.rules)
  const names = metricNames.map(({ name }) => name)
  const series = new Set(
    metricNames.flatMap(({ name, type }) =>
      type === 'histogram' ? ['_bucket', '_sum', '_count'].map((part) => `${name}${part}`) : [name],
    ),
  )
  const strangers = (query: string): string[] =>
    [...query.matchAll(/\bshopsync_\w+/g)].map(([name]) => name).filter((name) => !series.has(name))

  test('query metrics that the product shows, and the dashboard shows every one of them', () => {
    const queries: string[] = panels.flatMap(({ targets }: Json) => targets.map(({ expr }: Json) => expr))
    expect([...queries, ...rules.map(({ expr }) => expr)].flatMap(strangers)).toEqual([])
    expect(strangers('sum(shopsync_runs) + shopsync_runs_total')).toEqual(['shopsync_runs'])
    // The version is what the instances are listed by.
    expect(names.filter((name) => !queries.join().includes(name))).toEqual(['shopsync_build_info'])
    for (const expr of queries) expect(expr).toContain('instance=~"$instance"')
  })

  test('lead to headings of the runbook, and say what they show', () => {
    const anchors = [...text('docs/runbook.md').matchAll(/^## (.+)$/gm)].map(
      ([, heading = '']) => `docs/runbook.md#${heading.toLowerCase().replaceAll(' ', '-')}`,
    )
    const books = new Set<string>(rules.map(({ annotations }) => annotations.runbook))
    expect([...books].filter((book) => !anchors.includes(book))).toEqual([])
    expect(books.size).toBe(10)
    expect(new Set(panels.map(({ id }: Json) => id)).size).toBe(panels.length)
    for (const { title, description } of panels)
      expect([title, description.length > 10]).toEqual([title, true])
  })
})
