/**
 * One configuration at a time shapes the rows of a warehouse. Two that differ, such as that of a listener that read its
 * own before somebody changed the time zone and that of a sync after it, would each recompute what the other one has
 * stored, and both would call it proven.
 *
 * Every claim of the lease therefore compares the stored text (rowsettings.ts) with the process's own, in its
 * transaction (lease.ts):
 *
 * equal:                                  nothing to do.
 * as when the configuration was read:     this process brings the change, and stores it. So does the first claim in a
 *                                         warehouse of a version that stored none.
 * anything else:                          another process has stored newer settings since: the claim fails.
 *
 * To go by which process is older was judged better than to refuse every difference: nobody would have to confirm a
 * change of a setting, and going back to former settings is a change like any other.
 */
import { Stop } from '../../base/errors.js'
import { programKey } from '../../model/rowsettings.js'

/** In sync_meta: the text that shaped the rows last. */
export const rowSettingsName = 'row_settings'

const parsed = (text: string): Readonly<Record<string, string>> => JSON.parse(text) as Record<string, string>

function differing(ours: string, theirs: string): string[] {
  const [mine, other] = [parsed(ours), parsed(theirs)]
  return [...new Set([...Object.keys(mine), ...Object.keys(other)])]
    .filter((name) => mine[name] !== other[name])
    .sort()
}

/** Another process has written the warehouse with newer settings. `names`: those that differ; none if only what is stored does. */
export class OtherSettings extends Stop {
  constructor(
    message: string,
    hint: string,
    readonly where: string,
    readonly names: readonly string[],
  ) {
    super(message, { exitCode: 2, hint })
  }
}

/** The same, for a program that makes other rows. A supervisor that starts it again starts the installed version: 1. */
class OtherProgram extends Stop {
  constructor(message: string, hint: string) {
    super(message, { exitCode: 1, hint })
  }
}

/** The warehouse no longer hides what this process still hides for it. */
export const toldToHideLess = (where: string): OtherSettings =>
  new OtherSettings(
    `The warehouse ${where} was told to hide less since this program opened it; nothing was done`,
    'Start this program again: it then hides what the warehouse hides now',
    where,
    [],
  )

export const isSuperseded = (error: unknown): error is OtherSettings | OtherProgram =>
  error instanceof OtherSettings || error instanceof OtherProgram

function superseded(where: string, names: readonly string[]): OtherSettings | OtherProgram {
  if (names.includes(programKey))
    return new OtherProgram(
      `Another version of shopsync has written the warehouse ${where} since this program was started; nothing was done`,
      'Start this program again with the version that is installed now',
    )
  return new OtherSettings(
    `The warehouse ${where} was written with other values of ${names.join(', ')} since this program read its configuration, expected the same; nothing was done`,
    'Start this program again: it then reads its configuration as it is now',
    where,
    names,
  )
}

/** A process's own settings: one object for each reading of its configuration. */
export class RowSettings {
  /** What the warehouse had when the configuration was read; null: nothing. undefined: not looked at yet. */
  #before: string | null | undefined

  constructor(readonly text: string) {}

  /** Only the first look counts: it comes right after the configuration was read. */
  look(stored: string | null): void {
    if (this.#before === undefined) this.#before = stored
  }

  /** What others have otherwise, by name. Empty beside another version of the program: `check` says which one is older. */
  differing(others: readonly string[]): string[] {
    const names = [...new Set(others.flatMap((other) => differing(this.text, other)))].sort()
    return names.includes(programKey) ? [] : names
  }

  /** Throws if another process has stored newer settings. */
  check(stored: string | null, where: string): void {
    this.look(stored)
    if (stored !== null && stored !== this.text && stored !== this.#before)
      throw superseded(where, differing(this.text, stored))
  }

  /** They are stored: whatever differs from now on is newer. */
  stored(): void {
    this.#before = this.text
  }
}
