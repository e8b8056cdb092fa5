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

/** `M`: the type of the module, as `typeof import(…)` gives it. */
export const breaking = <M extends object>(module: string): Breaking<M> => ({
  function: (name, broken) => ({ module, name, broken: broken as Breakage['broken'] }),
  method: (type, name, broken) => ({ module, name: `${type}.${name}`, broken: broken as Breakage['broken'] }),
  getter: (type, name, broken) => ({ module, name: `${type}.${name}`, broken: broken as Breakage['broken'] }),
})

/** Which of the breakages in a program is on, by its number; all of them as long as nobody has chosen. */
let chosen: number | undefined
export const choose = (at: number): void => {
  chosen = at
}

/** The broken function while its breakage is on, and otherwise the sound one. Files of brokenproduct.ts call it. */
export function switched<F>({ broken }: Breakage, sound: F, at: number): F {
  const instead = broken(sound as never)
  return function (this: unknown, ...given: never[]): unknown {
    return (((chosen ?? at) === at ? instead : sound) as Callable).apply(this, given)
  } as F
}

/** The same for a member of a class. */
export function plant(
  breakage: Breakage,
  classes: Readonly<Record<string, { prototype: object }>>,
  at: number,
): void {
  const [type = '', member = ''] = breakage.name.split('.')
  const prototype = classes[type]?.prototype ?? {}
  const sound = Object.getOwnPropertyDescriptor(prototype, member)
  if (!sound) throw new Error(`${breakage.name} is not there`)
  const instead = switched(breakage, (sound.get ?? sound.value) as never, at)
  Object.defineProperty(prototype, member, { ...sound, [sound.get ? 'get' : 'value']: instead })
}
