/**
 * deploy/ as the tools that read it see it: systemd-analyze, and from pip hadolint and the schemas of Kubernetes. The image is
 * built without a daemon: its instructions are carried out in a folder. What is lacking is named, and its tests are skipped.
 */
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { client, lackingFor, run } from '../clients/environment.js'
import { type OtherNode, otherNode, withNode } from '../support/harness/nodes.js'
import { scratch } from '../support/harness/scratch.js'
import { filesIn, root } from '../support/harness/tree.js'

const requirements = 'requirements-deploy.txt'
const lacking = await lackingFor('hadolint and the schemas of Kubernetes', requirements)
const hasSystemd = spawnSync('systemd-analyze', ['--version']).status === 0
if (!hasSystemd) console.warn('Not checked: systemd-analyze is lacking')

describe.skipIf(!hasSystemd)('systemd', () => {
  const units = [...filesIn('deploy/systemd', '.service'), ...filesIn('deploy/systemd', '.timer')].map(
    (path) => path.split('/').at(-1) ?? '',
  )

  test('takes every unit silently', async () => {
    const folder = scratch()
    for (const unit of units) {
      const text = readFileSync(join(root, 'deploy/systemd', unit), 'utf8')
      // The program is not installed where the tests run; systemd asks whether it is there.
      writeFileSync(join(folder, unit), text.replaceAll('/usr/local/bin/shopsync', '/bin/true'))
    }
    const paths = units.map((unit) => join(folder, unit.replace('@.', '@job.')))
    cpSync(join(folder, 'shopsync@.service'), join(folder, 'shopsync@job.service'))
    const { stdout, stderr } = await run('systemd-analyze', ['verify', ...paths])
    expect(stdout + stderr).toBe('')
  })

  test.each(units.filter((unit) => unit.endsWith('.service')))('%s is exposed to little', async (unit) => {
    const path = join(root, 'deploy/systemd', unit)
    // 10 is exposed to everything; what systemd calls OK ends at 4.
    await run('systemd-analyze', ['security', '--offline=true', '--threshold=20', path])
  })

  test.each(units.filter((unit) => unit.endsWith('.timer')))(
    '%s comes when its job is planned',
    async (unit) => {
      const [, when = ''] =
        /^OnCalendar=(.*)$/m.exec(readFileSync(join(root, 'deploy/systemd', unit), 'utf8')) ?? []
      const { stdout } = await run('systemd-analyze', ['calendar', when])
      expect(stdout).toMatch(/Next elapse/)
    },
  )
})

describe.skipIf(lacking !== undefined)('tools from pip', () => {
  test('hadolint finds nothing in the Dockerfile', async () => {
    await run(client('hadolint', requirements), [join(root, 'deploy/docker/Dockerfile')])
  })

  test('the schemas of Kubernetes take every manifest', async () => {
    const files = filesIn('deploy/kubernetes', '.yaml').map((path) => join(root, path))
    await run(client('kubernetes-validate', requirements), ['--strict', '-k', '1.30', ...files])
  })
})

interface Instruction {
  readonly name: string
  readonly words: string
}

/** The stages of a Dockerfile, by name; the last one may have none. */
function stagesOf(text: string): Map<string, Instruction[]> {
  const stages = new Map<string, Instruction[]>()
  let current: Instruction[] = []
  for (const line of text.replaceAll('\\\n', ' ').split('\n')) {
    const [, name = '', words = ''] = /^([A-Z]+) +(.*)$/.exec(line) ?? []
    if (name === 'FROM') {
      current = []
      stages.set(/ AS (\w+)/.exec(words)?.[1] ?? 'last', current)
    } else if (name !== '') current.push({ name, words })
  }
  return stages
}

describe('the image', () => {
  test('is built by its instructions, holds no more than it needs, and runs', async (testing) => {
    const dockerfile = readFileSync(join(root, 'deploy/docker/Dockerfile'), 'utf8')
    const node = await otherNode(/^FROM node:(\d+)/m.exec(dockerfile)?.[1] ?? '')
    if (node === undefined) return testing.skip('npm has no such Node')
    const stages = stagesOf(dockerfile)
    const roots = new Map([...stages.keys()].map((name) => [name, scratch()]))
    // What git knows, as a clone has it, less what the image's own list leaves out.
    const context = scratch()
    const { stdout: known } = await run('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
      cwd: root,
    })
    for (const path of known.trim().split('\n')) {
      if (!existsSync(join(root, path))) continue
      mkdirSync(dirname(join(context, path)), { recursive: true })
      cpSync(join(root, path), join(context, path))
    }
    for (const [stage, instructions] of stages)
      await build(roots.get(stage) ?? '', instructions, { roots, context, node })
    const image = roots.get('last') ?? ''
    expect(lstatSync(join(image, 'usr/local/bin/shopsync')).isSymbolicLink()).toBe(true)
    for (const absent of ['app/test', 'app/src']) expect(existsSync(join(image, absent)), absent).toBe(false)
    const modules = readdirSync(join(image, 'app/node_modules'))
    for (const absent of ['typescript', 'vitest']) expect(modules).not.toContain(absent)
    const program = join(image, 'app/dist/bin/shopsync.js')
    const home = scratch()
    const called = (...words: string[]) => withNode(node, home, 'node', '--', program, ...words)
    expect((await called('jobs', 'list')).stdout).toMatch(/nightly/)
    expect((await called('demo')).stdout).toMatch(/first sync/)
  })
})

async function build(
  to: string,
  instructions: readonly Instruction[],
  {
    roots,
    context,
    node,
  }: { readonly roots: ReadonlyMap<string, string>; readonly context: string; readonly node: OtherNode },
): Promise<void> {
  let folder = to
  const inside = (path: string): string => (path.startsWith('/') ? join(to, path) : join(folder, path))
  for (const { name, words } of instructions) {
    if (name === 'WORKDIR') {
      folder = inside(words)
      mkdirSync(folder, { recursive: true })
    }
    if (name === 'COPY') {
      const parts = words.split(' ')
      const from = /^--from=(\w+)$/.exec(parts[0] ?? '')?.[1]
      const source = from === undefined ? context : (roots.get(from) ?? '')
      const paths = parts.filter((part) => !part.startsWith('--'))
      const target = inside(paths.pop() ?? '')
      for (const path of paths) {
        const isInto = target.endsWith('/') || paths.length > 1
        cpSync(join(source, path), isInto ? join(target, path.split('/').at(-1) ?? '') : target, {
          recursive: true,
          verbatimSymlinks: true,
        })
      }
    }
    if (name === 'RUN') {
      // Absolute paths begin at the folder that stands for the image, and nobody but us has an account here.
      mkdirSync(join(to, 'usr/local/bin'), { recursive: true })
      const command = words.replace(/(?<= )\/(?=app|usr|var)/g, `${to}/`).replace('-o node -g node ', '')
      await withNode(node, folder, 'sh', '-c', command)
    }
  }
}
