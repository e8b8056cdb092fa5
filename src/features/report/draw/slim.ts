/*
 * Makes a drawing by ECharts small: a page has a hundred of them, and most of their text is the same. What is removed
 * here is in the page's style (`.plot`). Every mark keeps the positions of its series (`data-s`) and its category
 * (`data-i`).
 */

const dot =
  /<path d="M1 0A1 1 0 1 1 1 -0\.1A1 1 0 0 1 1 0" transform="matrix\(([\d.]+),0,0,\1,([-\d.]+),([-\d.]+)\)"([^>]*?) stroke-width="([\d.]+)"/g

const one = (value: string): string => String(Math.round(Number(value) * 10) / 10)

/** Points are drawn as a scaled path, whose outline is scaled with it. */
const asCircle = (_: string, radius: string, x: string, y: string, rest: string, outline: string): string =>
  `<circle cx="${one(x)}" cy="${one(y)}" r="${one(radius)}"${rest} stroke-width="${one(String(Number(outline) * Number(radius)))}"`

export const slimmed = (svg: string): string =>
  svg
    .replace(/<style >[\s\S]*?<\/style>/g, '')
    // Nothing is drawn outside the grid, and the clipping path would have the same id in every drawing.
    .replace(/<defs ?>[\s\S]*?<\/defs>/g, '')
    .replace(/ clip-path="url\(#zr\d+-c\d+\)"/g, '')
    .replace(dot, asCircle)
    .replace(/ (?:class="zr\d+-cls-\d+"|pointer-events="visible"|ecmeta_ssr_type="chart")/g, '')
    .replace(/ (?:xmlns:xlink|version|baseProfile|dominant-baseline|stroke-linecap)="[^"]*"/g, '')
    .replaceAll(' style="font-size:12px;font-family:inherit;"', '')
    .replaceAll('ecmeta_series_index=', 'data-s=')
    .replaceAll('ecmeta_data_index=', 'data-i=')
    .replace(/<rect width="\d+" height="\d+" x="0" y="0" fill="none"><\/rect>/, '')
    .replace(/"(M[^"]*)"/g, (path) => path.replace(/\d+\.\d{2,}/g, one))
    .replace(/(translate\()([-\d.]+) ([-\d.]+)\)/g, (_, name, x, y) => `${name}${one(x)} ${one(y)})`)
    .replaceAll(' stroke-width="0"', '')
    // Boxes around texts.
    .replace(/<path d="[^"]*" transform="[^"]*" fill="none"><\/path>/g, '')
    .replace(/ fill="var\(--(\w+)\)" stroke="var\(--paper\)" stroke-width="0\.5"/g, ' class="k-$1"')
    .replace(/ fill="var\(--(\w+)\)" stroke="var\(--\1\)"/g, ' class="d-$1"')
    .replaceAll(' fill="none" stroke="var(--rule)"', ' class="r"')
    .replaceAll(' fill="var(--muted)"', '')
    .replace(/><\/(?:path|circle)>/g, '/>')
    .replace(/\n\s*/g, '')
