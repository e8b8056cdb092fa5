/**
 * Names, words and places of the generated shops. Used by the makers of this folder. Lists are texts that are split at
 * '|': one name per line would fill pages.
 */
const words = (text: string): readonly string[] => text.split('|')

export const FIRST_NAMES = words(
  'James|Mary|Robert|Patricia|John|Jennifer|Michael|Linda|David|Elizabeth|William|Barbara|Richard|Susan|Joseph|Jessica|Thomas|Sarah|Carlos|Karen|Daniel|Nancy|Matthew|Lisa|Anthony|Betty|Mark|Sandra|Donald|Ashley|Steven|Kimberly|Andrew|Emily|Paul|Donna|Joshua|Michelle|Kenneth|Carol|Kevin|Amanda|Brian|Melissa|Luis|Deborah|Timothy|Stephanie|Jorge|Rebecca|José|María|Zoë|Renée|Søren|Łukasz|Nguyễn|Anaïs|Björn|Chloé|Iván|Mónica|Raúl|Sofía',
)

export const LAST_NAMES = words(
  'Smith|Johnson|Williams|Brown|Jones|Garcia|Miller|Davis|Rodriguez|Martinez|Hernandez|Lopez|Gonzalez|Wilson|Anderson|Thomas|Taylor|Moore|Jackson|Martin|Lee|Perez|Thompson|White|Harris|Sanchez|Clark|Ramirez|Lewis|Robinson|Walker|Young|Allen|King|Wright|Scott|Torres|Nguyen|Hill|Flores|Green|Adams|Nelson|Baker|Hall|Rivera|Campbell|Mitchell|Carter|Roberts|O’Brien|Muñoz|Peña|García|Łukaszewicz|Jørgensen|Müller|Lefèvre|Nuñez|Šimić|D’Angelo|van der Berg',
)

export const STREETS = words(
  'Main St|Oak Ave|Maple Dr|Cedar Ln|Elm St|Washington Blvd|Lake Rd|Hill St|Sunset Dr|2nd St|Park Ave|Pine St|River Rd|Highland Ave|Church St|County Rd 12|Mill Creek Way|Old Post Rd',
)

/** `zone` is the IANA name of the time zone. `places` are a name, the first digits of its zip codes, and its tax rate. */
type MetroLine = readonly [
  state: string,
  zone: string,
  area: string,
  labor: 'labor taxed' | 'labor free',
  subletTax: number,
  places: string,
]

const METRO_LINES: readonly MetroLine[] = [
  [
    'TX',
    'America/Chicago',
    '512',
    'labor free',
    6.25,
    'Austin 787 8.25|Round Rock 786 8.25|Cedar Park 786 8.25|Pflugerville 786 8.25|Georgetown 786 8.25|Buda 786 8.25',
  ],
  [
    'WI',
    'America/Chicago',
    '608',
    'labor taxed',
    5,
    'Madison 537 5.5|Middleton 535 5.5|Sun Prairie 535 5.5|Verona 535 5.5|Fitchburg 537 5.5|Waunakee 535 5.5',
  ],
  [
    'OH',
    'America/New_York',
    '614',
    'labor taxed',
    5.75,
    'Columbus 432 7.5|Dublin 430 7.5|Westerville 430 6.75|Hilliard 430 7.5|Grove City 431 7.5|Gahanna 432 7.5',
  ],
  [
    'NC',
    'America/New_York',
    '919',
    'labor taxed',
    4.75,
    'Raleigh 276 7.25|Cary 275 7.25|Durham 277 7.5|Apex 275 7.25|Wake Forest 275 7.25|Garner 275 7.25',
  ],
  [
    'CO',
    'America/Denver',
    '303',
    'labor free',
    2.9,
    'Denver 802 8.81|Lakewood 802 7.5|Aurora 800 8.5|Boulder 803 9.045|Golden 804 7.5|Littleton 801 7.25',
  ],
  [
    'MN',
    'America/Chicago',
    '612',
    'labor free',
    6.875,
    'Minneapolis 554 9.025|St. Paul 551 9.875|Edina 554 8.525|Bloomington 554 9.025|Roseville 551 8.375|Eagan 551 8.125',
  ],
  [
    'NY',
    'America/New_York',
    '716',
    'labor taxed',
    4,
    'Buffalo 142 8.75|Amherst 142 8.75|Tonawanda 141 8.75|Cheektowaga 142 8.75|Lancaster 140 8.75|Orchard Park 141 8.75',
  ],
  [
    'TN',
    'America/Chicago',
    '615',
    'labor taxed',
    7,
    'Nashville 372 9.25|Franklin 370 9.75|Brentwood 370 9.75|Smyrna 371 9.75|Murfreesboro 371 9.75|Gallatin 370 9.25',
  ],
  [
    'NE',
    'America/Chicago',
    '402',
    'labor free',
    5.5,
    'Omaha 681 7|Papillion 680 7.5|Bellevue 680 7|La Vista 681 7.5|Elkhorn 680 7|Gretna 680 7.5',
  ],
  [
    'AZ',
    'America/Phoenix',
    '602',
    'labor free',
    5.6,
    'Phoenix 850 8.6|Tempe 852 8.1|Mesa 852 8.3|Chandler 852 7.8|Glendale 853 9.2|Gilbert 852 7.8',
  ],
]

export type City = ReturnType<typeof cityOf>

function cityOf([state, zone, area, labor, subletTax]: MetroLine, place: string) {
  const [, name = '', zip = '', rate = ''] = /^(.*) (\d+) ([\d.]+)$/.exec(place) ?? []
  const partTax = Number(rate)
  const laborTax = labor === 'labor taxed' ? partTax : 0
  return { name, state, zip, area, zone, partTax, laborTax, subletTax, hazmatTax: partTax }
}

/** Places near each other: all shops of a business are in one of these lists. */
export const METROS: readonly (readonly City[])[] = METRO_LINES.map((line) =>
  words(line[5]).map((place) => cityOf(line, place)),
)

export const BUSINESSES = words(
  'Lakeside Auto Care|Northgate Motors|Brothers’ Garage|Cedar Creek Automotive|Summit Tire & Service|Pioneer Auto Repair|Riverside Car Clinic|Union Street Garage|Blue Ridge Automotive|Eastside Auto Works',
)

export type CarModel = ReturnType<typeof model>

/** `vin` is the first eight characters of the VIN. */
const model = (make: string, name: string, engines: string, vin: string, from = 2006) => ({
  make,
  model: name,
  engines: words(engines),
  vin,
  from,
})

export const MODELS: readonly CarModel[] = [
  model('Ford', 'F-150', '3.5L V6 Turbo|5.0L V8|2.7L V6 Turbo', '1FTEW1E5'),
  model('Chevrolet', 'Silverado 1500', '5.3L V8|6.2L V8|4.3L V6', '3GCUYDED'),
  model('Ram', '1500', '5.7L V8|3.6L V6', '1C6SRFFT', 2011),
  model('Toyota', 'Camry', '2.5L L4|3.5L V6', '4T1B11HK'),
  model('Toyota', 'RAV4', '2.5L L4|2.5L L4 Hybrid', '2T3P1RFV'),
  model('Toyota', 'Tacoma', '3.5L V6|2.7L L4', '3TMCZ5AN'),
  model('Honda', 'Civic', '1.5L L4 Turbo|2.0L L4', '2HGFC2F6'),
  model('Honda', 'CR-V', '1.5L L4 Turbo|2.4L L4', '7FARW2H5'),
  model('Honda', 'Odyssey', '3.5L V6', '5FNRL6H7'),
  model('Nissan', 'Altima', '2.5L L4|3.5L V6', '1N4BL4BV'),
  model('Nissan', 'Rogue', '2.5L L4', '5N1AT2MT', 2008),
  model('Subaru', 'Outback', '2.5L H4|3.6L H6', '4S4BSANC'),
  model('Hyundai', 'Elantra', '2.0L L4|1.8L L4', '5NPD84LF'),
  model('Kia', 'Sorento', '2.4L L4|3.3L V6', '5XYPG4A3'),
  model('Jeep', 'Grand Cherokee', '3.6L V6|5.7L V8', '1C4RJFBG'),
  model('Volkswagen', 'Jetta', '1.4L L4 Turbo|2.0L L4', '3VWC57BU'),
  model('BMW', '328i', '2.0L L4 Turbo|3.0L L6', 'WBA3A5C5', 2007),
  model('Mazda', 'CX-5', '2.5L L4', 'JM3KFBCM', 2012),
  model('GMC', 'Sierra 1500', '5.3L V8|6.2L V8', '3GTU2NEC'),
  model('Citroën', '2CV', '0.6L H2', 'VF7AZKA0', 2006),
]

export const COLORS = words('white|black|silver|gray|red|blue|green|beige')

export const VENDORS = words(
  'Parts Depot|Metro Auto Supply|Tire Warehouse|Genuine Import Parts|Dealer Parts Counter|Midstate Battery|Core & Reman Co.|Fluids Direct',
)

export const STATUSES: readonly (readonly [string, string])[] = [
  ['Waiting for approval', '#f0ad4e'],
  ['Waiting for parts', '#d9534f'],
  ['Diagnosing', '#5bc0de'],
  ['In the bay', '#0275d8'],
  ['Quality check', '#6f42c1'],
  ['Ready for pick-up', '#5cb85c'],
]

export const LABELS: readonly (readonly [string, string])[] = [
  ['Waiter', '#e74c3c'],
  ['Fleet', '#2980b9'],
  ['Comeback', '#8e44ad'],
  ['Tow-in', '#f39c12'],
  ['Loaner out', '#16a085'],
]

/** Where new customers come from, with weights. */
export const SOURCES: readonly (readonly [string, number])[] = [
  ['Google', 30],
  ['Referral', 26],
  ['Drive-by', 18],
  ['Yelp', 14],
  ['Mailer', 12],
]

export const NOTES = words(
  'Customer called, wants to be rung before any extra work.|Left voicemail about the estimate.|Approved by phone.|Parts arrive tomorrow morning.|Customer waits in the lounge.|Key is in the night drop box.|Noise comes back only when cold.|Drove 12 miles, could not reproduce.|Wheel lock key in glove box.|Asked for the old parts back.|Text when ready – no calls please.|Check engine light off after reset; recheck in 500 mi.',
)

export const DETAILS = words(
  'Oil change and general check|Squeaks when braking|Check engine light on|Vibration at 60 mph|A/C blows warm|Hard to start in the morning|Annual service|Pulls to the right|Coolant smell in the cabin|Rattle from the rear|New tires before the winter|Battery light came on',
)
