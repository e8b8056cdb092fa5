import type { Modules } from '../../../dist/modules.js'

/** `daily`: `npm test` plays it; `npm run test:long` plays all. Otherwise the only warehouse on which the test has to fail. */
export type How = 'daily' | 'sqlite' | 'postgres'

/**
 * A function of the program that is broken on purpose, identified by its file and its exported name: the compiler
 * notices if it is renamed, or if its parameters or result change. brokenproduct.ts makes a program from it.
 */
export interface Breakage {
  /** The file's path from the root. */
  readonly module: string
  /** An exported function; or a method or getter of an exported class, as `Class.member`. */
  readonly name: string
  /** Its replacement; it gets the sound function, bound, and what that was given. */
  readonly broken: (sound: never, ...given: never[]) => unknown
  readonly how: readonly How[]
}

/**
 * What a broken program does, in the words of docs/dev/promises.md, where a line says which promise that is, and which test has
 * to notice it; and what breaks it.
 */
export type Mutants = Readonly<Record<string, () => Breakage>>

type Callable = (...given: never[]) => unknown
type Replacement<This, G extends unknown[], R> = (this: This, sound: (...given: G) => R, ...given: G) => R
type Breaks<This, G extends unknown[], R> = (broken: Replacement<This, G, R>) => Breakage

/** A method, or else a getter. */
type Members<I> = {
  readonly [K in keyof I]: I[K] extends (...given: infer G) => infer R ? Breaks<I, G, R> : Breaks<I, [], I[K]>
}
type Breakable<M> = {
  readonly [K in keyof M]: M[K] extends (...given: infer G) => infer R
    ? Breaks<void, G, R>
    : M[K] extends { prototype: infer I }
      ? Members<I>
      : never
}

/** `breaking('engine/list/books').Book.needsZone(() => true)`: the file's path without `src/`, and what stands in for what. */
export function breaking<File extends keyof Modules>(
  file: File,
  ...how: readonly How[]
): Breakable<Modules[File]> {
  const module = `${file.startsWith('schema/') ? '' : 'src/'}${file}.ts`
  const named = (name: string): unknown =>
    new Proxy(() => {}, {
      get: (_, member) => named(`${name}.${String(member)}`),
      apply: (_, _this, [broken]): Breakage => ({ module, name, broken, how }),
    })
  return new Proxy({}, { get: (_, name) => named(String(name)) }) as Breakable<Modules[File]>
}

/**
 * Which of the breakages in a program is on, by its number. Until one is chosen, the only one of a program is on, and
 * none of several; processes that inherit the environment take what their parent has chosen.
 */
const variable = 'SHOPSYNC_MUTANT'
const { [variable]: inherited } = process.env
let chosen = inherited === undefined ? undefined : Number(inherited)

/** `undefined`: the program is sound. */
export function choose(at: number | undefined): void {
  chosen = at ?? -1
  process.env[variable] = String(chosen)
}

/** A breakage where it is planted: its number, and whether its program has no other one. */
interface Place {
  readonly at: number
  readonly isAlone: boolean
  /** The table that it is in may be loaded later than the function that it breaks. */
  readonly breakage: () => Breakage
}

/** The broken function while its breakage is on, and otherwise the sound one. Files of brokenproduct.ts call it. */
export function switched<F>(sound: F, { at, isAlone, breakage }: Place): F {
  return function (this: unknown, ...given: never[]): unknown {
    const isOn = chosen === undefined ? isAlone : chosen === at
    if (!isOn) return (sound as Callable).apply(this, given)
    return breakage().broken.call(this, (sound as Callable).bind(this) as never, ...given)
  } as F
}

/** The same for a member of a class. */
export function plant(type: { prototype: object }, member: string, place: Place): void {
  const sound = Object.getOwnPropertyDescriptor(type.prototype, member)
  if (!sound) throw new Error(`${member} is not there`)
  const instead = switched((sound.get ?? sound.value) as never, place)
  Object.defineProperty(type.prototype, member, { ...sound, [sound.get ? 'get' : 'value']: instead })
}
