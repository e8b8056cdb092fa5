/*
 * Where relative paths start. What a configuration names is relative to the folder of its file, as that was named: links
 * aren't followed. What a flag names, and everything without a configuration, is relative to the working directory.
 */
import { statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import type { Environment } from './expand.js'

/** How a call says where its configuration is. */
export interface ConfigurationCall {
  /** From --config. */
  readonly file?: string | undefined
  readonly environment: Environment
  readonly workingDirectory: string
}

/** The configuration file: from --config, or else SHOPSYNC_CONFIG, or else config.json. */
export const configName = ({ file, environment }: Omit<ConfigurationCall, 'workingDirectory'>): string =>
  file ?? (environment.SHOPSYNC_CONFIG || 'config.json')

export const configFile = (call: ConfigurationCall): string =>
  resolve(call.workingDirectory, configName(call))

/** Where the relative paths of the configuration start. */
export const configFolder = (call: ConfigurationCall): string => dirname(configFile(call))

const isThere = (path: string): boolean => statSync(path, { throwIfNoEntry: false }) !== undefined

/**
 * Up to 0.3.0, some of these paths started in the working directory. What is still there would be missed in silence: a
 * warehouse would be loaded again, and the jobs would be the shipped ones. undefined if nothing is.
 */
export function leftBehind(
  path: string,
  { folder, workingDirectory }: { readonly folder: string; readonly workingDirectory: string },
): { readonly here: string; readonly there: string } | undefined {
  const [there, here] = [resolve(folder, path), resolve(workingDirectory, path)]
  return there === here || isThere(there) || !isThere(here) ? undefined : { here, there }
}
