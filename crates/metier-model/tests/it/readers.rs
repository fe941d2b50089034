//! The readers under any bytes: no harm, and no difference however they are cut.
//! The bytes are made up, cut and repeated; recordings are in `wire`.

use metier_model::raw::fuzz_readers;
use proptest::prelude::*;

use crate::talk::WAYS;

/// Pieces of which odd replies are made.
const PIECES: &[&str] = &[
    "data: ",
    "data:",
    "event: error\n",
    ": note\n",
    "\n\n",
    "\r\n\r\n",
    "\n",
    "\r",
    "\u{feff}",
    " ",
    "[DONE]",
    "{}",
    "[",
    "]",
    "{\"error\":\"x\"}",
    "{\"type\":\"ping\"}",
    "漢",
    "\"",
    "<html>",
    "{\"choices\":[{\"delta\":{\"content\":\"é漢😀\"}}]}",
    "{\"choices\":[{\"delta\":{\"content\":\" \"}}]}",
    "{\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":1,\"id\":\"a\",\"function\":{\"name\":\"f\",\"arguments\":\"{\"}}]}}]}",
    "{\"choices\":[{\"delta\":{\"tool_calls\":[{\"id\":\"b\",\"function\":{\"name\":\"f\",\"arguments\":{}}}]}}]}",
    "{\"choices\":[{\"delta\":{\"refusal\":\"no\"},\"finish_reason\":\"stop\"}]}",
    "{\"choices\":[{\"message\":{\"content\":\"whole\"}}],\"usage\":{\"prompt_tokens\":3}}",
    "{\"choices\":[],\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":18446744073709551615}}",
    "{\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":18446744073709551615,\"cache_read_input_tokens\":5}}}",
    "{\"type\":\"content_block_start\",\"index\":18446744073709551615,\"content_block\":{\"type\":\"tool_use\",\"input\":{\"a\":1}}}",
    "{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"x\"}}",
    "{\"type\":\"content_block_stop\",\"index\":18446744073709551615}",
    "{\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"refusal\"},\"usage\":{\"output_tokens\":2}}",
    "{\"type\":\"message_stop\"}",
    "{\"type\":\"response.output_text.delta\",\"delta\":\"x\"}",
    "{\"type\":\"response.output_item.added\",\"output_index\":3,\"item\":{\"type\":\"function_call\",\"name\":\"f\"}}",
    "{\"type\":\"response.function_call_arguments.delta\",\"output_index\":3,\"delta\":\"{\"}",
    "{\"type\":\"response.completed\",\"response\":{\"status\":\"completed\",\"output\":[]}}",
    "{\"object\":\"response\",\"status\":\"queued\"}",
    "{\"type\":\"message\",\"content\":[{\"type\":\"text\",\"text\":\"t\"}]}",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn how_odd_replies_are_cut_makes_no_difference(
        cut: u8,
        pieces in proptest::collection::vec(proptest::sample::select(PIECES), 0..24),
    ) {
        let mut bytes = vec![cut];
        for piece in pieces {
            bytes.extend_from_slice(piece.as_bytes());
        }
        fuzz_readers(&bytes);
    }

    #[test]
    fn how_damaged_replies_are_cut_makes_no_difference(
        way in 0..WAYS.len(), cut: u8, at: prop::sample::Index, byte: u8, again: prop::sample::Index,
    ) {
        let body = WAYS[way].good_body().into_bytes();
        let mut damaged = body.clone();
        *at.get_mut(&mut damaged) = byte;
        damaged.extend_from_slice(&body[again.index(body.len())..]);
        fuzz_readers(&[&[cut], damaged.as_slice()].concat());
    }

    #[test]
    fn any_bytes_are_read_without_harm(bytes: Vec<u8>) {
        fuzz_readers(&bytes);
    }
}
