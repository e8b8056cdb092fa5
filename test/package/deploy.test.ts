/** The files of deploy/ agree with the program: its jobs, its flags, its addresses, its configuration. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { readDocument } from '../../src/engine/config/load.js'
import { checks } from '../support/harness/checks.js'
import { calendarTimes } from '../support/harness/declared.js'
import { scratch } from '../support/harness/scratch.js'
import { filesIn, root } from '../support/harness/tree.js'

const text = (path: string): string => readFileSync(join(root, path), 'utf8')
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

test('all units of systemd are hardened alike', () => {
  const walls = filesIn('deploy/systemd', '.service').map(
    (unit) => /^# The program only[\s\S]*?^# No Memory.*$/m.exec(text(unit))?.[0],
  )
  expect(walls[0]?.length).toBeGreaterThan(900)
  expect(new Set(walls).size).toBe(1)
})

test('whatever runs under systemd may write where the documents put metrics', () => {
  const [, textfile = ''] = /"textfile": "([^"]+)"/.exec(text('docs/operations.md')) ?? []
  for (const unit of filesIn('deploy/systemd', '.service')) {
    const [, writable = ''] = /^ReadWritePaths=(.*)$/m.exec(text(unit)) ?? []
    const folders = writable.split(' ').map((path) => path.replace(/^-/, ''))
    expect(folders, unit).toContain('/srv/shopsync')
    expect(folders, unit).toContain(dirname(textfile))
  }
})

test('what stays up or is planned waits until the clock is set', () => {
  for (const unit of filesIn('deploy/systemd', '.service'))
    for (const key of ['Wants', 'After'])
      expect(text(unit), unit).toMatch(new RegExp(`^${key}=.*\\btime-sync\\.target\\b`, 'm'))
})

test('the image compiles no driver of SQLite, and has none that its Node would abort with', () => {
  const dockerfile = text('deploy/docker/Dockerfile')
  const nodes = [...dockerfile.matchAll(/^FROM node:(\d+)/gm)].map(([, major]) => Number(major))
  expect(Math.min(...nodes)).toBeGreaterThanOrEqual(24)
  expect(new Set(nodes).size).toBe(1)
  for (const [line] of dockerfile.matchAll(/npm (?:ci|install|prune|rebuild).*?(?= && |$)/gm))
    expect(line).toMatch(/^npm (?:ci|prune) .*--ignore-scripts/)
  expect(dockerfile).toContain('npm pkg delete optionalDependencies.better-sqlite3 && npm prune')
})

/** A server that accepts mail; resolves to what it got after the first mail. */
function mailServer(): Promise<{ readonly port: number; readonly mail: Promise<string>; close(): void }> {
  return new Promise((listening) => {
    let took: (mail: string) => void = () => {}
    const mail = new Promise<string>((resolve) => {
      took = resolve
    })
    const server = createServer((socket) => {
      let [said, isMail] = ['', false]
      socket.on('error', () => {})
      socket.write('220 here\r\n')
      socket.on('data', (chunk: Buffer) => {
        said += chunk.toString()
        if (isMail && !said.endsWith('\r\n.\r\n')) return
        if (isMail) took(said)
        isMail = said.endsWith('DATA\r\n')
        socket.write(isMail ? '354 go on\r\n' : '250 well\r\n')
        said = ''
      })
    }).listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo
      listening({ port, mail, close: () => server.close() })
    })
  })
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
  server.close()
  expect(mail).toMatch(/^To: ops@example.com\r$/m)
  expect(mail).toMatch(/^Subject: shopsync\r$/m)
  expect(mail).toContain('notes of tenant 101 failed')
})

interface Pod {
  readonly securityContext: { readonly runAsNonRoot: boolean }
  readonly containers: readonly {
    readonly args: readonly string[]
    readonly securityContext: { readonly readOnlyRootFilesystem: boolean }
    readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[]
    readonly livenessProbe?: { readonly httpGet: { readonly path: string } }
  }[]
}

describe('Kubernetes', () => {
  const cronsOf = (file: string) =>
    parseAllDocuments(text(`deploy/kubernetes/${file}`)).map(
      (document) =>
        document.toJS() as {
          spec: {
            schedule: string
            jobTemplate: {
              spec: { completions?: number; podFailurePolicy: { rules: unknown[] }; template: { spec: Pod } }
            }
          }
        },
    )
  const crons = cronsOf('cronjob.yaml')
  const [shards, whole] = cronsOf('shards.yaml')
  const [workers, budget] = parseAllDocuments(text('deploy/kubernetes/worker.yaml')).map(
    (document) =>
      document.toJS() as {
        spec: {
          maxUnavailable?: number
          strategy: { rollingUpdate: { maxUnavailable: number } }
          template: { spec: Pod & { terminationGracePeriodSeconds: number } }
        }
      },
  )
  const pods = [
    ...[...crons, shards!, whole!].map(({ spec }) => spec.jobTemplate.spec.template.spec),
    workers!.spec.template.spec,
  ]
  const deployment = parse(text('deploy/kubernetes/deployment.yaml')) as { spec: { template: { spec: Pod } } }

  test('has workers that are replaced one at a time, with time to put their shards back', () => {
    const { strategy, template } = workers!.spec
    expect([strategy.rollingUpdate.maxUnavailable, budget!.spec.maxUnavailable]).toEqual([1, 1])
    expect(template.spec.terminationGracePeriodSeconds).toBe(90)
    expect(template.spec.containers[0]!.args).toEqual(['worker'])
    expect(template.spec.containers[0]!.livenessProbe?.httpGet.path).toBe('/health')
  })

  test('has a CronJob for each planned job', () => {
    const found = crons.map(({ spec }) => ({
      name: spec.jobTemplate.spec.template.spec.containers[0]!.args[1],
      schedule: spec.schedule,
    }))
    const order = (a: { name?: string | undefined }, b: { name?: string | undefined }): number =>
      String(a.name).localeCompare(String(b.name))
    expect(found.sort(order)).toEqual(planned.map(({ name, schedule }) => ({ name, schedule })).sort(order))
  })

  test("doesn't treat another run at work as a failure", () => {
    for (const { spec } of crons)
      expect(spec.jobTemplate.spec.podFailurePolicy.rules).toContainEqual({
        action: 'Ignore',
        onExitCodes: { containerName: 'shopsync', operator: 'In', values: [4] },
      })
  })

  test('has an index for each shard, and the whole after them', () => {
    const { completions, podFailurePolicy, template } = shards!.spec.jobTemplate.spec
    const [script] = template.spec.containers[0]!.args
    expect(script).toContain(`--shard "$JOB_COMPLETION_INDEX/${completions}"`)
    expect(podFailurePolicy.rules.slice(0, 2)).toEqual([
      { action: 'FailIndex', onExitCodes: { containerName: 'shopsync', operator: 'In', values: [2, 70] } },
      { action: 'Ignore', onExitCodes: { containerName: 'shopsync', operator: 'In', values: [4, 130, 143] } },
    ])
    expect(whole!.spec.jobTemplate.spec.template.spec.containers[0]!.args).toEqual([
      'run',
      'nightly',
      '--whole',
    ])
    expect(shards!.spec.schedule).toBe(planned.find(({ name }) => name === 'nightly')?.schedule)
  })

  test.each([
    [0, 0],
    [1, 0],
    [2, 2],
    [3, 3],
    [4, 4],
  ])('a shard that ends with %i ends its pod with %i', (code, ended) => {
    expect(runShard(`exit ${code}`).status).toBe(ended)
  })

  test('a shard is told to end when its pod is, and its own exit code counts', () => {
    // The program's parent is the pod's shell. It doesn't wait for ever, because nothing would end it without that shell.
    const program = "trap 'exit 143' TERM; kill -TERM $PPID; for i in $(seq 100); do sleep 0.05; done"
    expect(runShard(program).status).toBe(143)
  })

  /** Runs the pod's script with something in place of the program. */
  function runShard(program: string) {
    const folder = scratch()
    writeFileSync(join(folder, 'shopsync'), `#!/bin/sh\n${program}\n`, { mode: 0o755 })
    const [script = ''] = shards!.spec.jobTemplate.spec.template.spec.containers[0]!.args
    const env = { PATH: `${folder}:${process.env.PATH}`, JOB_COMPLETION_INDEX: '3' }
    return spawnSync('sh', ['-c', script], { env })
  }

  test('has no place where a SQLite file would be lost with its pod', () => {
    for (const pod of [deployment.spec.template.spec, ...pods])
      for (const { volumeMounts } of pod.containers)
        expect(volumeMounts.map(({ mountPath }) => mountPath)).not.toContain('/var/lib/shopsync')
    expect(text('deploy/docker/Dockerfile')).not.toContain('VOLUME')
  })

  test("runs as an unprivileged user, on a root that can't be written to", () => {
    for (const pod of [deployment.spec.template.spec, ...pods]) {
      expect(pod.securityContext.runAsNonRoot).toBe(true)
      for (const { securityContext } of pod.containers)
        expect(securityContext.readOnlyRootFilesystem).toBe(true)
    }
    expect(deployment.spec.template.spec.containers[0]?.livenessProbe?.httpGet.path).toBe('/health')
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
  const { services } = parse(text('deploy/compose/compose.yaml')) as {
    services: Record<
      'shopsync' | 'worker',
      {
        user: string
        read_only: boolean
        cap_drop: string[]
        ports?: string[]
        volumes: string[]
        deploy?: { replicas: number }
      }
    >
  }
  // The secrets are files of the host's user, whose id the container must have: it writes nothing of its own.
  for (const service of [services.shopsync, services.worker]) {
    expect(service).toMatchObject({
      user: `\${SHOPSYNC_USER:-1000:1000}`,
      read_only: true,
      cap_drop: ['ALL'],
    })
    for (const volume of service.volumes) expect(volume).toMatch(/:ro$/)
    for (const port of service.ports ?? []) expect(port).toMatch(/^127\.0\.0\.1:/)
  }
  expect(services.worker.deploy?.replicas).toBe(2)
})
