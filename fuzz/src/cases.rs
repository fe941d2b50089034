//! What must hold of any bytes that are read as a file of cases.
//! The target `evals` calls it.

use metier_evals::{Case, parse_cases};

/// Reads `bytes` as a case file.
pub fn read_cases(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let lines = text.lines().count().max(1) + 1;
    for name in ["cases.yaml", "cases.json"] {
        match parse_cases(text, name, Some("pdf")) {
            Ok(cases) => {
                assert!(!cases.is_empty(), "a file without cases passed");
                for case in cases {
                    assert!((1..=lines).contains(&case.origin.line), "a case outside the file");
                    let json = serde_json::to_string(&case).expect("a case is JSON");
                    let again: Case = serde_json::from_str(&json).expect("it is read again");
                    assert!(again == case, "a case changed on the way through JSON: {json}");
                }
            }
            Err(faults) => {
                assert!(!faults.is_empty(), "nothing is wrong, and nothing is read");
                for fault in faults {
                    assert!((1..=lines).contains(&fault.line), "a fault outside the file: {fault}");
                    assert!(!fault.message.is_empty(), "a fault without a message");
                }
            }
        }
    }
}
