import { expect } from 'chai'
import { boundsOfDay } from './days.ts'

const bounds = (day: string, timeZone: string) => {
  const { start, end } = boundsOfDay(day, timeZone)
  return [start.toISOString(), end.toISOString()]
}

/** Contract: 5, Days. */
describe('the bounds of a day', () => {
  const days: [string, string, string, string][] = [
    ['2026-11-21', 'UTC', '2026-11-21T00:00:00.000Z', '2026-11-22T00:00:00.000Z'],
    ['2026-11-21', 'Europe/Berlin', '2026-11-20T23:00:00.000Z', '2026-11-21T23:00:00.000Z'],
    ['2026-11-21', 'America/Los_Angeles', '2026-11-21T08:00:00.000Z', '2026-11-22T08:00:00.000Z'],
    ['2026-11-21', 'Asia/Kathmandu', '2026-11-20T18:15:00.000Z', '2026-11-21T18:15:00.000Z'],
    ['2026-11-21', 'Pacific/Kiritimati', '2026-11-20T10:00:00.000Z', '2026-11-21T10:00:00.000Z'],
    // 25 and 23 hours.
    ['2026-10-25', 'Europe/Berlin', '2026-10-24T22:00:00.000Z', '2026-10-25T23:00:00.000Z'],
    ['2026-03-29', 'Europe/Berlin', '2026-03-28T23:00:00.000Z', '2026-03-29T22:00:00.000Z'],
    // The clock is put forward at midnight, or put back to it.
    ['2018-11-04', 'America/Sao_Paulo', '2018-11-04T03:00:00.000Z', '2018-11-05T02:00:00.000Z'],
    ['2018-02-17', 'America/Sao_Paulo', '2018-02-17T02:00:00.000Z', '2018-02-18T03:00:00.000Z'],
  ]
  for (const [day, timeZone, start, end] of days) {
    it(`are those of ${day} in ${timeZone}`, () => {
      expect(bounds(day, timeZone)).to.deep.equal([start, end])
    })
  }
})
