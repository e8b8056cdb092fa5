/**
 * The parts and jobs that every shop sells. Prices are per unit, in cents. Used by settings.ts, stock.ts, lines.ts and
 * advice.ts.
 */
export interface CataloguePart {
  readonly key: string
  readonly description: string
  readonly brands: readonly string[]
  readonly cost: number
  readonly core: boolean
  readonly hazard: 'caution' | 'warning' | 'danger' | undefined
}

type PartLine = readonly [key: string, description: string, brands: string, cost: number]

/** Customers compare tire prices, so tires don't get the markup of other parts. */
const TIRES = new Set(['tire', 'winter-tire'])

/** The price based on the cost, as shops set it: the more expensive the part, the smaller the markup. */
export function markupOf(key: string, cost: number): number {
  if (TIRES.has(key)) return 1.48
  const band = [1000, 2500, 5000, 10_000, 15_000].filter((limit) => cost >= limit).length
  return [2.8, 2.5, 2.25, 2.1, 1.95, 1.85][band] ?? 1.85
}

const PART_LINES: readonly PartLine[] = [
  ['oil', 'Full synthetic oil 5W-30, 1 qt', 'Mobil 1|Valvoline|Castrol', 540],
  ['oil-filter', 'Oil filter', 'Wix|Bosch|Mann', 420],
  ['air-filter', 'Engine air filter', 'Wix|K&N', 980],
  ['cabin-filter', 'Cabin air filter', 'Bosch|Fram', 1120],
  ['pads-front', 'Brake pad set, front, ceramic', 'Akebono|Wagner|Bosch', 3850],
  ['pads-rear', 'Brake pad set, rear, ceramic', 'Akebono|Wagner|Bosch', 3520],
  ['rotor', 'Brake rotor', 'Brembo|Raybestos', 4900],
  ['brake-fluid', 'Brake fluid DOT 4, 1 pt', 'ATE|Prestone', 690],
  ['tire', 'All-season tire 225/60R17', 'Michelin|Goodyear|Cooper', 11_800],
  ['winter-tire', 'Winter tire 225/60R17', 'Nokian|Bridgestone', 12_400],
  ['battery', 'Battery, group 35 AGM', 'Interstate|DieHard', 12_900],
  ['alternator', 'Alternator, remanufactured', 'Denso|Remy', 16_800],
  ['starter', 'Starter, remanufactured', 'Denso|Remy', 14_200],
  ['coolant', 'Coolant 50/50, 1 gal', 'Zerex|Prestone', 1290],
  ['thermostat', 'Thermostat with gasket', 'Stant|Gates', 1850],
  ['water-pump', 'Water pump', 'Gates|Aisin', 7400],
  ['belt', 'Serpentine belt', 'Gates|Continental', 2450],
  ['spark-plug', 'Spark plug, iridium', 'NGK|Denso', 780],
  ['coil', 'Ignition coil', 'Delphi|NGK', 4200],
  ['wiper', 'Wiper blade', 'Bosch|Rain-X', 890],
  ['refrigerant', 'Refrigerant R-134a, 1 lb', 'Chemours|Honeywell', 1150],
  ['compressor', 'A/C compressor', 'Denso|Four Seasons', 21_500],
  ['strut', 'Strut assembly', 'Monroe|KYB', 10_400],
  ['ball-joint', 'Lower ball joint', 'Moog|TRW', 3600],
  ['tie-rod', 'Outer tie rod end', 'Moog|TRW', 2700],
  ['hub', 'Wheel hub and bearing', 'Timken|SKF', 8900],
  ['o2-sensor', 'Oxygen sensor', 'Denso|Bosch', 5200],
  ['atf', 'Transmission fluid, 1 qt', 'Valvoline|Aisin', 620],
  ['bulb', 'Headlight bulb H11', 'Sylvania|Philips', 1050],
  ['exhaust', 'Muffler and pipe', 'Walker|Bosal', 9800],
]

/** The deposit on an old part. */
export const CORE_CENTS = 2500

const CORES = new Set(['battery', 'alternator', 'starter', 'compressor'])
const HAZARDS: Readonly<Record<string, CataloguePart['hazard']>> = {
  battery: 'danger',
  refrigerant: 'warning',
  'brake-fluid': 'caution',
  coolant: 'caution',
}

export const PARTS: readonly CataloguePart[] = PART_LINES.map(([key, description, brands, cost]) => ({
  key,
  description,
  brands: brands.split('|'),
  cost,
  core: CORES.has(key),
  hazard: HAZARDS[key],
}))

export const CATEGORIES = [
  'Maintenance',
  'Brakes',
  'Tires & wheels',
  'Engine',
  'Electrical',
  'Heating & cooling',
  'Steering & suspension',
  'Diagnostics',
  'Exhaust',
] as const

export interface CatalogueJob {
  readonly title: string
  readonly category: (typeof CATEGORIES)[number]
  readonly hours: number
  readonly weight: number
  /** Months (1 to 12) in which customers ask for the job three times as often. */
  readonly season: readonly number[]
  /** Quantities by part key. */
  readonly parts: Readonly<Record<string, number>>
  readonly hazmat?: readonly [name: string, fee: number]
  readonly sublet?: readonly [name: string, price: number, cost: number]
  readonly inspections: readonly string[]
}

const job = (
  title: string,
  category: CatalogueJob['category'],
  hours: number,
  weight: number,
  parts: CatalogueJob['parts'],
  more: Partial<CatalogueJob> = {},
): CatalogueJob => ({ title, category, hours, weight, parts, season: [], inspections: [], ...more })

const oilDisposal = { hazmat: ['Oil disposal', 350] } as const
const safetyCheck = ['Lights', 'Tire tread', 'Brake linings', 'Fluids', 'Wipers'] as const

export const JOBS: readonly CatalogueJob[] = [
  job(
    'Synthetic oil change',
    'Maintenance',
    0.5,
    34,
    { oil: 5.5, 'oil-filter': 1 },
    { ...oilDisposal, inspections: safetyCheck },
  ),
  job(
    'Multi-point inspection',
    'Maintenance',
    0.4,
    8,
    {},
    {
      inspections: [...safetyCheck, 'Battery test', 'Belts & hoses'],
    },
  ),
  job('Engine air filter', 'Maintenance', 0.2, 7, { 'air-filter': 1 }),
  job('Cabin air filter', 'Maintenance', 0.3, 7, { 'cabin-filter': 1 }),
  job('Wiper blades', 'Maintenance', 0.1, 5, { wiper: 2 }, { season: [10, 11, 12] }),
  job(
    'Front brakes: pads and rotors',
    'Brakes',
    1.6,
    9,
    { 'pads-front': 1, rotor: 2 },
    { inspections: ['Brake hoses', 'Calipers'] },
  ),
  job(
    'Rear brakes: pads and rotors',
    'Brakes',
    1.5,
    6,
    { 'pads-rear': 1, rotor: 2 },
    { inspections: ['Parking brake'] },
  ),
  job('Brake fluid exchange', 'Brakes', 0.8, 4, { 'brake-fluid': 2 }, { hazmat: ['Fluid disposal', 250] }),
  job(
    'Four tires, mount and balance',
    'Tires & wheels',
    1.2,
    5,
    { tire: 4 },
    {
      hazmat: ['Tire disposal', 1200],
      season: [4, 5],
    },
  ),
  job(
    'Winter tires, mount and balance',
    'Tires & wheels',
    1.2,
    3,
    { 'winter-tire': 4 },
    {
      hazmat: ['Tire disposal', 1200],
      season: [10, 11, 12],
    },
  ),
  job('Tire rotation', 'Tires & wheels', 0.4, 10, {}, { season: [4, 10, 11] }),
  job('Four-wheel alignment', 'Tires & wheels', 1, 5, {}, { sublet: ['Alignment', 9500, 6000] }),
  job(
    'Battery replacement',
    'Electrical',
    0.5,
    5,
    { battery: 1 },
    {
      hazmat: ['Core & acid fee', 500],
      season: [11, 12, 1, 2],
    },
  ),
  job('Alternator replacement', 'Electrical', 1.9, 2, { alternator: 1, belt: 1 }),
  job('Starter replacement', 'Electrical', 1.6, 2, { starter: 1 }, { season: [12, 1, 2] }),
  job('Headlight bulbs', 'Electrical', 0.4, 4, { bulb: 2 }, { season: [10, 11, 12] }),
  job(
    'Coolant flush',
    'Heating & cooling',
    1,
    4,
    { coolant: 2 },
    {
      hazmat: ['Coolant disposal', 450],
      season: [10, 11],
    },
  ),
  job('Thermostat', 'Heating & cooling', 1.3, 2, { thermostat: 1, coolant: 1 }, { season: [12, 1] }),
  job('Water pump', 'Heating & cooling', 3.2, 2, { 'water-pump': 1, coolant: 2, belt: 1 }),
  job('A/C recharge', 'Heating & cooling', 1, 3, { refrigerant: 2.5 }, { season: [5, 6, 7, 8] }),
  job('A/C compressor', 'Heating & cooling', 3, 1, { compressor: 1, refrigerant: 2 }, { season: [6, 7] }),
  job('Spark plugs', 'Engine', 1.4, 3, { 'spark-plug': 4 }),
  job('Ignition coil', 'Engine', 0.7, 2, { coil: 1 }),
  job('Serpentine belt', 'Engine', 0.6, 3, { belt: 1 }),
  job('Front struts', 'Steering & suspension', 3.4, 2, { strut: 2 }, { sublet: ['Alignment', 9500, 6000] }),
  job(
    'Lower ball joints',
    'Steering & suspension',
    2.2,
    2,
    { 'ball-joint': 2 },
    {
      sublet: ['Alignment', 9500, 6000],
    },
  ),
  job('Outer tie rods', 'Steering & suspension', 1.2, 2, { 'tie-rod': 2 }),
  job('Wheel bearing', 'Steering & suspension', 1.8, 2, { hub: 1 }),
  job('Check-engine diagnosis', 'Diagnostics', 1, 8, {}, { inspections: ['Stored codes', 'Freeze frame'] }),
  job('Oxygen sensor', 'Exhaust', 0.8, 2, { 'o2-sensor': 1 }),
  job('Muffler', 'Exhaust', 1.5, 1, { exhaust: 1 }),
  job('Transmission service', 'Engine', 1.6, 3, { atf: 6 }, { hazmat: ['Fluid disposal', 450] }),
]

/** The job that repairs what an inspection has found. */
export const REMEDIES: Readonly<Record<string, string>> = {
  Lights: 'Headlight bulbs',
  'Tire tread': 'Four tires, mount and balance',
  'Brake linings': 'Front brakes: pads and rotors',
  Fluids: 'Coolant flush',
  Wipers: 'Wiper blades',
  'Battery test': 'Battery replacement',
  'Belts & hoses': 'Serpentine belt',
  'Brake hoses': 'Brake fluid exchange',
  Calipers: 'Rear brakes: pads and rotors',
  'Parking brake': 'Rear brakes: pads and rotors',
  'Stored codes': 'Spark plugs',
  'Freeze frame': 'Oxygen sensor',
}
