/** The identity of the source: what a warehouse remembers about it. */
export interface SourceAddress {
  /** Origin and path, without a trailing slash. */
  readonly baseUrl: string
  readonly partnerId: string
}

/** The source that the settings name, normalized so that two spellings of one address are equal. */
export function sourceAddress({ baseUrl, partnerId }: SourceAddress): SourceAddress {
  const { origin, pathname } = new URL(baseUrl)
  return { baseUrl: `${origin}${pathname.replace(/\/+$/, '')}`, partnerId }
}
