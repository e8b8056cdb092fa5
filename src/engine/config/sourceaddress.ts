/** Which source is asked: what a warehouse remembers of it. */
export interface SourceAddress {
  /** Origin and path, without a slash at the end. */
  readonly baseUrl: string
  readonly partnerId: string
}

/** The source that settings name, spelled so that two spellings of one address are equal. */
export function sourceAddress({ baseUrl, partnerId }: SourceAddress): SourceAddress {
  const { origin, pathname } = new URL(baseUrl)
  return { baseUrl: `${origin}${pathname.replace(/\/+$/, '')}`, partnerId }
}
