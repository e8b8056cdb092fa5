/** Other versions of Node, from npm, and the tarball installed with each. */
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { Program } from './process.js'
import { onDisk, scratch } from './scratch.js'
import { inFolder, pack, type Said } from './tarball.js'

/** Kept between runs. Not below node_modules, because programs there would find this project's packages. */
const cache = join(onDisk, 'shopsync-nodes')
const packageName = `node-${process.platform}-${process.arch}`

export interface OtherNode {
  readonly version: string
  /** The folder with bin/ and the headers. */
  readonly home: string
  /** Where the tarball is installed. */
  readonly app: string
}

/** Fetches a version such as 22 or 20.19.0; undefined if npm can't, which it reports. */
export async function otherNode(version: string): Promise<OtherNode | undefined> {
  const folder = join(cache, version)
  const home = join(folder, 'node_modules', packageName)
  const node = { version, home, app: join(folder, 'app') }
  mkdirSync(node.app, { recursive: true })
  for (const one of [folder, node.app]) writeFileSync(join(one, 'package.json'), '{}')
  try {
    if (!existsSync(join(home, 'bin/node')))
      await inFolder(folder, 'npm', 'install', '--no-save', '--no-audit', `${packageName}@${version}`)
    return node
  } catch {
    console.warn(`Not tested: npm could not install ${packageName}@${version}`)
    return undefined
  }
}

/** A command as somebody runs it who only has this Node. Where npm keeps what it compiled is removed afterwards. */
export function withNode(node: OtherNode, folder: string, ...words: readonly string[]): Promise<Said> {
  const env = [`PATH=${pathOf(node)}`, `npm_config_nodedir=${node.home}`, `TMPDIR=${scratch()}`]
  return inFolder(folder, 'env', ...env, ...words)
}

const pathOf = ({ home, app }: OtherNode): string =>
  [join(home, 'bin'), join(app, 'node_modules/.bin'), process.env.PATH].join(delimiter)

/** Installs the tarball. SQLite's driver, which may have to be compiled, is kept for the next time. */
export async function install(node: OtherNode): Promise<void> {
  for (const one of ['node_modules/shopsync', 'package-lock.json'])
    rmSync(join(node.app, one), { recursive: true, force: true })
  await withNode(node, node.app, 'npm', 'install', '--no-audit', '--no-fund', await pack())
}

/** Starts a program that stays up, asks it for a page at the address that it prints, and ends it with SIGTERM. */
export async function visit(
  node: OtherNode,
  folder: string,
  command: string,
  path: string,
): Promise<{ readonly page: string; readonly code: number | null }> {
  const script = join(node.app, 'node_modules/.bin/shopsync')
  const env = { ...process.env, PATH: pathOf(node) } as Record<string, string>
  const run = new Program(script, [command], { cwd: folder, env, node: join(node.home, 'bin/node') })
  try {
    const page = await (await fetch(new URL(path, await run.told(/http:\/\/[^\s"]+/)))).text()
    run.kill('SIGTERM')
    return { page, code: (await run.ended).code }
  } finally {
    run.kill('SIGKILL')
  }
}
