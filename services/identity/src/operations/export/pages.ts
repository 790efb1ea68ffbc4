/** Pages of rows in the order of their keys, read one at a time: nothing is held in the database between two. */
export async function* pagesOf<Row>(
  read: (after: string) => Promise<Row[]>,
  { pageRows, keyOf, first }: { pageRows: number; keyOf: (row: Row) => string; first: string },
): AsyncGenerator<Row[]> {
  let after = first
  for (;;) {
    const rows = await read(after)
    const last = rows.at(-1)
    if (last === undefined) return
    yield rows
    if (rows.length < pageRows) return
    after = keyOf(last)
  }
}

/** The text of a JSON array of all rows, a page at a time. */
export async function* toJsonArray(pages: AsyncIterable<readonly object[]>): AsyncGenerator<Buffer> {
  let isFirst = true
  for await (const page of pages) {
    const rows = page.map((row) => JSON.stringify(row)).join(',\n')
    yield Buffer.from(`${isFirst ? '[\n' : ',\n'}${rows}`)
    isFirst = false
  }
  yield Buffer.from(isFirst ? '[]\n' : '\n]\n')
}

/** The text of one JSON value. */
export async function* toJson(value: object): AsyncGenerator<Buffer> {
  yield Buffer.from(`${JSON.stringify(value, undefined, 2)}\n`)
}
