/* The files that `init` writes: a configuration without secrets, and the variables it refers to. */
import { lstatSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { codeFromOutside, Stop } from '../../engine/base/errors.js'
import { joinedNames } from '../../engine/base/format.js'
import { usualEnvFile } from '../../engine/config/envfile.js'
import { isFault, readPostgresAddress } from '../../engine/config/postgresaddress.js'
import { packageFolder } from '../../shell/package.js'

/** The contents of the configuration. */
export interface Answers {
  readonly baseUrl: string
  readonly partnerId: string
  readonly secret: string
  readonly warehouse: string
}

const configFile = 'config.json'

/** Existing files may contain something nobody can type again. */
export function refuseToOverwrite(folder: string, force: boolean): void {
  // A link exists even if its target doesn't, such as a volume that isn't mounted yet.
  const isThere = (name: string): boolean =>
    lstatSync(join(folder, name), { throwIfNoEntry: false }) !== undefined
  const there = [configFile, usualEnvFile].filter(isThere)
  if (there.length === 0 || force) return
  throw new Stop(`Found ${joinedNames(there)} in ${folder}, expected none; nothing was written`, {
    exitCode: 2,
    hint: 'Type shopsync check to test the existing files, or shopsync init --force to overwrite them',
  })
}

const secretName = 'SHOPSYNC_API_SECRET'
const warehouseName = 'SHOPSYNC_WAREHOUSE_URL'

function hasPassword(url: string): boolean {
  const address = url.startsWith('sqlite:') ? undefined : readPostgresAddress(url)
  return address !== undefined && !isFault(address) && address.password !== undefined
}

/** A line that Node, a shell and systemd read the same way. */
function line(name: string, value: string): string {
  const quote = ["'", '"'].find((mark) => !value.includes(mark))
  if (quote === undefined || /[\n\r\\]/.test(value) || (quote === '"' && /[$`]/.test(value)))
    throw new Stop(
      `The value of ${name} contains quotes, backslashes or line breaks that an environment file cannot hold`,
      {
        exitCode: 2,
        hint: `Write it to a file of its own, and write {"file": "PATH"} in its place in ${configFile}`,
      },
    )
  return `${name}=${quote}${value}${quote}`
}

/** Writes a file in one step: a reader finds the old or the new file, never part of one. */
function writeWhole(file: string, text: string, mode: number): void {
  const temporary = `${file}.${process.pid}.new`
  try {
    writeFileSync(temporary, text, { mode, flag: 'wx' })
    renameSync(temporary, file)
  } catch (cause) {
    rmSync(temporary, { force: true })
    throw new Stop(`Could not write ${file} (${codeFromOutside(cause)})`, {
      exitCode: 2,
      hint: 'Expected a folder that this user may write to: change to one of your own',
      cause,
    })
  }
}

/** The API sends no names of tenants, and none of vehicles: what views and the report call those of `shopsync sandbox`. */
export const sandboxReport = {
  tenantNames: { 101: 'Pioneer Auto Repair', 102: 'Lakeside Auto Care', 103: 'Union Street Garage' },
  names: { vehicles: ['year', 'make', 'model'] },
}

/** Writes config.json and shopsync.env, which only its owner may read. Returns their paths. */
export function writeFiles(
  folder: string,
  { baseUrl, partnerId, secret, warehouse }: Answers,
  report?: typeof sandboxReport,
): string[] {
  const isSecret = hasPassword(warehouse)
  const document = {
    $schema: relative(folder, join(packageFolder(), 'schema/config.schema.json')),
    api: { baseUrl, partnerId, secret: `\${${secretName}}` },
    warehouse: { url: isSecret ? `\${${warehouseName}}` : warehouse },
    report,
  }
  const lines = [line(secretName, secret), ...(isSecret ? [line(warehouseName, warehouse)] : [])]
  const files = [join(folder, usualEnvFile), join(folder, configFile)] as const
  writeWhole(files[0], `${lines.join('\n')}\n`, 0o600)
  writeWhole(files[1], `${JSON.stringify(document, null, 2)}\n`, 0o644)
  return [...files].reverse()
}
