import { closeSync, existsSync, openSync, renameSync } from 'node:fs'
import { Stop } from '../../engine/base/errors.js'

/**
 * The file of a copy of some tenants: nobody takes a part of it for all, and only its owner may read it. `finish` returns
 * where the whole copy is.
 */
export function partFile(url: string): { readonly url: string; finish(): string } | undefined {
  const path = /^sqlite:(.*)$/s.exec(url)?.[1]
  if (path === undefined) return undefined
  if (existsSync(path))
    throw new Stop(
      `There is a file ${path} already, expected a name of no file: a copy of some tenants is new`,
      {
        exitCode: 2,
        hint: 'Name another file, or delete that one',
      },
    )
  const part = `${path}.part`
  closeSync(openSync(part, 'a', 0o600))
  const finish = (): string => {
    renameSync(part, path)
    return url
  }
  return { url: `sqlite:${part}`, finish }
}
