/*
 * Sections of the configuration that features declare, each in a settings.ts in its folder, or beside this file if other
 * features read it too; src/main.ts lists the features. The engine reads and checks them without knowing any of them.
 */
import type { z } from 'zod'
import type { Problem } from './problems.js'

/** What a section is checked against. */
interface Around {
  readonly allowInsecure: boolean
  /** The sections of all features, after the check of single values. */
  readonly sections: Readonly<Record<string, unknown>>
  /** The document as it was typed, since people look for what they typed. `valueAt` reads it. */
  readonly raw: unknown
}

/** A section as its feature declares it. `S`: as people write it. `V`: as the program works with it. */
interface DeclaredSection<S extends z.ZodType, V> {
  /** Its key in the configuration. */
  readonly name: string
  /** The section that it follows in the reference. Default: the last one. */
  readonly after?: string
  readonly shape: S
  /** The paths of its settings that hold secrets. `[]` matches every position in a list. */
  readonly secrets?: readonly string[]
  /** Mistakes that the check of a single value can't see. */
  problems?(document: z.output<S>, around: Around): Problem[]
  /** Default: the values as checked. */
  read?(document: z.output<S>): V
}

export interface ConfigSection<V = unknown> {
  readonly name: string
  readonly after?: string
  readonly shape: z.ZodType
  readonly secrets: readonly string[]
  problems(document: unknown, around: Around): Problem[]
  read(document: unknown): V
}

export function configSection<S extends z.ZodType, V = z.output<S>>({
  problems,
  read,
  secrets = [],
  ...declared
}: DeclaredSection<S, V>): ConfigSection<V> {
  return {
    ...declared,
    secrets,
    problems: (document, around) => problems?.(document as z.output<S>, around) ?? [],
    read: (document) => (read ? read(document as z.output<S>) : (document as V)),
  }
}

/** What was read from the sections, by section name. */
export interface WithSections {
  readonly sections?: Readonly<Record<string, unknown>>
}

/** How a feature reads its section of a configuration. If the section is missing, this returns its defaults. */
export const settingsOf =
  <V>({ name, shape, read }: ConfigSection<V>) =>
  ({ sections = {} }: WithSections): V =>
    Object.hasOwn(sections, name) ? (sections[name] as V) : read(shape.parse(undefined))
