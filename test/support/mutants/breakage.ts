/**
 * A function of the program that is broken on purpose, identified by its file and its exported name: the compiler
 * notices if it is renamed, or if its parameters or result change. brokenproduct.ts makes a program from it.
 */
export interface Breakage {
  /** The file's path from the root. */
  readonly module: string
  /** An exported function; or a method or getter of an exported class, as `Class.member`. */
  readonly name: string
  /** Its replacement. */
  readonly broken: (sound: never) => unknown
}

type Callable = (...given: never[]) => unknown
type FunctionOf<M> = { [K in keyof M]: M[K] extends Callable ? K : never }[keyof M] & string
type ClassOf<M> = { [K in keyof M]: M[K] extends { prototype: object } ? K : never }[keyof M] & string
type Instance<T> = T extends { prototype: infer I } ? I : never
type MethodOf<I> = { [K in keyof I]: I[K] extends Callable ? K : never }[keyof I] & string
type Called<I, F> = F extends (...given: infer G) => infer R ? (this: I, ...given: G) => R : never

interface Breaking<M> {
  function<K extends FunctionOf<M>>(name: K, broken: (sound: M[K]) => M[K]): Breakage
  method<K extends ClassOf<M>, P extends MethodOf<Instance<M[K]>>>(
    type: K,
    name: P,
    broken: (sound: Called<Instance<M[K]>, Instance<M[K]>[P]>) => Called<Instance<M[K]>, Instance<M[K]>[P]>,
  ): Breakage
  getter<K extends ClassOf<M>, P extends keyof Instance<M[K]> & string>(
    type: K,
    name: P,
    broken: (
      sound: (this: Instance<M[K]>) => Instance<M[K]>[P],
    ) => (this: Instance<M[K]>) => Instance<M[K]>[P],
  ): Breakage
}

/** The path in `() => import('../../../src/…/file.js')`, from the root; vite resolves it before. */
function moduleIn(load: () => unknown): string {
  const [, path] = /.*\/((?:src|schema)\/[^"']*)\.[jt]s["']/.exec(String(load)) ?? []
  if (path === undefined) throw new Error(`Expected a function that imports a module, found ${load}`)
  return `${path}.ts`
}

/** `load` names the module, so that the compiler knows its functions; it is never called. */
export function breaking<M extends object>(load: () => Promise<M>): Breaking<M> {
  const module = moduleIn(load)
  return {
    function: (name, broken) => ({ module, name, broken: broken as Breakage['broken'] }),
    method: (type, name, broken) => ({
      module,
      name: `${type}.${name}`,
      broken: broken as Breakage['broken'],
    }),
    getter: (type, name, broken) => ({
      module,
      name: `${type}.${name}`,
      broken: broken as Breakage['broken'],
    }),
  }
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
  let instead: Callable | undefined
  return function (this: unknown, ...given: never[]): unknown {
    if (!(chosen === undefined ? isAlone : chosen === at)) return (sound as Callable).apply(this, given)
    instead ??= breakage().broken(sound as never) as Callable
    return instead.apply(this, given)
  } as F
}

/** The same for a member of a class. */
export function plant(type: { prototype: object }, member: string, place: Place): void {
  const sound = Object.getOwnPropertyDescriptor(type.prototype, member)
  if (!sound) throw new Error(`${member} is not there`)
  const instead = switched((sound.get ?? sound.value) as never, place)
  Object.defineProperty(type.prototype, member, { ...sound, [sound.get ? 'get' : 'value']: instead })
}
