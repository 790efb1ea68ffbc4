import { expect } from 'chai'
import { withoutValues } from './without-values.ts'

describe('The text of a statement in a trace', () => {
  it('has no value that the ORM wrote into it, whatever quotes it has', () => {
    const cases: [string, string][] = [
      [`select * from users where username = 'ada' limit 10`, 'select * from users where username = ? limit ?'],
      [
        `update users set password_hash = '$2b$12$hash' where id = 42`,
        'update users set password_hash = ? where id = ?',
      ],
      [`select 'it''s', 'a\\', 'hidden'`, 'select ?, ?, ?'],
      [`select E'a\\'b \\\\', e'it''s', 'hidden'`, 'select ?, ?, ?'],
      [`select date'2026-01-01', 1.5, $$hid'den$$, $x$ 'a' $$ $x$`, 'select date?, ?, ?, ?'],
      [
        `select "it's" from "table1" as t1 where a = $1 and b = $12`,
        `select "it's" from "table1" as t1 where a = $1 and b = $12`,
      ],
      [`select '\n\\x00', array['{a,''b''}']`, 'select ?, array[?]'],
    ]
    for (const [sql, expected] of cases) expect(withoutValues(sql), sql).to.equal(expected)
  })
})
