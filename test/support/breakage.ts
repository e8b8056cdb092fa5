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

/** Puts the broken member into a class. Called by the files that brokenproduct.ts writes. */
export function plant(
  { name, broken }: Breakage,
  classes: Readonly<Record<string, { prototype: object }>>,
): void {
  const [type = '', member = ''] = name.split('.')
  const prototype = classes[type]?.prototype ?? {}
  const sound = Object.getOwnPropertyDescriptor(prototype, member)
  if (!sound) throw new Error(`${name} is not there`)
  const instead = broken((sound.get ?? sound.value) as never)
  Object.defineProperty(prototype, member, { ...sound, [sound.get ? 'get' : 'value']: instead })
}
